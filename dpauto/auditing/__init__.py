"""Auditing: the true epsilon of a mechanism, proved on small languages or bounded from releases."""

from dpauto.auditing.exact import TrueEpsilon, Witness, audit
from dpauto.auditing.laws import Auditable
from dpauto.auditing.sampled import audit_releases

__all__ = ["Auditable", "TrueEpsilon", "Witness", "audit", "audit_releases"]
