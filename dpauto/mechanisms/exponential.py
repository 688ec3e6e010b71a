"""The exponential mechanism over the feasible words, the baseline of every comparison."""

from __future__ import annotations

from typing import ClassVar

from dpauto.mechanisms import race
from dpauto.mechanisms.offline import Offline
from dpauto.names import EXPONENTIAL
from dpauto.randomness import Tape

__all__ = ["Exponential"]


class Exponential(Offline):
    """The exponential mechanism: release v with probability proportional to exp(-a d(w, v)).

    With a = epsilon / (2 b), any two words within b substitutions stay epsilon-indistinguishable.

    Parameters
    ----------
    language : Language
        The feasible words; public.
    epsilon : int, float, Fraction or str
        Positive; a float is read as written.
    adjacency : int, optional
        b, at least 1: words within b substitutions are protected from one another.
    costs : Costs, mapping, callable or integer matrix, optional
        What it costs to write one symbol for another (public); by default 1, the Hamming distance.
    certificate : Certificate, optional
        A proof that this language allows a larger exponent; see `certify`.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range, or `costs` comes with `certificate`.
    InvalidCertificate
        If the certificate is for another language, epsilon, adjacency or mechanism.

    Examples
    --------
    >>> from dpauto import Exponential, Language
    >>> mechanism = Exponential(Language.all_words("abc", 5), epsilon="1/2", adjacency=2)
    >>> mechanism.exponent
    Fraction(1, 8)

    References
    ----------
    Chen, Leahy, Jones and Hale, arXiv 2202.03325 (the offline mechanism).
    """

    name: ClassVar[str] = EXPONENTIAL

    def _race(self, proposals: race.Proposals, tape: Tape) -> race.Race:
        return race.exponential(proposals, tape)
