"""Certified calibration: less error at the same proven epsilon, from what is public about L.

The proofs are on the documentation's page *Certified calibration*; code cites its lemmas.
"""

from dpauto.calibration.certificate import Certificate
from dpauto.calibration.proof import Budget
from dpauto.calibration.search import certify

__all__ = ["Budget", "Certificate", "certify"]
