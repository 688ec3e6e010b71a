"""The permute-and-flip mechanism over the feasible words."""

from __future__ import annotations

from typing import ClassVar

from dpauto.mechanisms import race
from dpauto.mechanisms.offline import Offline
from dpauto.names import PERMUTE_AND_FLIP
from dpauto.randomness import Tape

__all__ = ["PermuteAndFlip"]


class PermuteAndFlip(Offline):
    """Permute-and-flip: visit the feasible words in random order, keep v with chance exp(-a d).

    Here d is the distance of v from w beyond the least one, and a = epsilon / (2 b). The first word
    kept is released. Any two words within b substitutions, feasible or not, stay
    epsilon-indistinguishable. The expected error is never above the exponential mechanism's and,
    for a feasible word, never below half of it.

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
    >>> from dpauto import Language, PermuteAndFlip
    >>> mechanism = PermuteAndFlip(Language.all_words("abc", 5), epsilon=3, adjacency=1)
    >>> len(mechanism.release("abcab"))
    5
    >>> mechanism.privacy_loss(1)
    Fraction(3, 1)

    References
    ----------
    Benvenuti, Rao and Hale, arXiv 2603.28903, Definition 4; McKenna and Sheldon, arXiv 2010.12603.
    Drawn by thinning from one backward pass: the words are never listed.
    """

    name: ClassVar[str] = PERMUTE_AND_FLIP

    def _race(self, proposals: race.Proposals, tape: Tape) -> race.Race:
        return race.permute_and_flip(proposals, tape)
