"""Permute-and-flip in two stages, as the paper states it: a distance first, then a word.

This is the reference, to be read beside the paper and to be checked against. It counts the words at
every distance and integrates, where `PermuteAndFlip` needs one backward pass and no counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpauto.hamming import mnfa
from dpauto.language import Language
from dpauto.mechanisms.base import GUARD_BITS, Mechanism
from dpauto.passes import Undecided, uniform_ball
from dpauto.passes.weights import ball
from dpauto.privacy import Epsilon
from dpauto.randomness import WORD_BITS, Tape
from dpauto.words import IntArray, Symbol

if TYPE_CHECKING:
    from flint import acb, arb

    from dpauto.laws import ErrorLaw

__all__ = ["PermuteAndFlipByDistance"]


class PermuteAndFlipByDistance(Mechanism):
    """Permute-and-flip drawn distance first: Mechanism 1 of the paper [1]_.

    Draw a distance l with probability P(l), then a uniform word at that distance by the policy of
    the `MNFA`. The law is that of `PermuteAndFlip`, and so is the guarantee. Decisions are exact:
    P(l) is enclosed in intervals as narrow as the random bits demand. But every release counts the
    words at all distances and integrates over them, so this is for languages small enough to
    count, and for reading; use `PermuteAndFlip` otherwise.

    Parameters
    ----------
    language : Language
        The feasible words; public.
    epsilon : int, float, Fraction or str
        Positive; a float is read as written.
    adjacency : int, optional
        b, at least 1: words within b substitutions are protected from one another.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.

    Notes
    -----
    With a = epsilon / (2 b), N_l the number of words at distance l from w, d* the least distance
    that occurs and p_l = exp(-a (l - d*)),

        P(l) = N_l p_l Phi(l),
        Phi(l) = integral_0^1 (1 - p_l t)^(N_l - 1) prod_{k != l} (1 - p_k t)^(N_k) dt

    Phi is the paper's function of b, the vector of all words' distances, and l, with its sum over
    subsets written as an integral. Theorem 1 of the paper: this is permute-and-flip.

    References
    ----------
    .. [1] Benvenuti, Rao, Hale, "Differential Privacy for Symbolic Trajectories via the
       Permute-and-Flip Mechanism", arXiv:2603.28903, Mechanism 1 and Theorem 1.

    Examples
    --------
    >>> mechanism = PermuteAndFlipByDistance(Language.of(["ab", "ac"]), epsilon=1)
    >>> mechanism.distance_law("ab").round(12).tolist()
    [0.696734670144, 0.303265329856, 0.0]
    >>> len(mechanism.release("ab"))
    2
    """

    name: ClassVar[str] = "permute-and-flip by distance"

    def __init__(self, language: Language, *, epsilon: Epsilon, adjacency: int = 1) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)

    def distance_law(self, w: Iterable[Symbol]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return P(0) … P(n), the probabilities of the distance between `w` and its release.

        Parameters
        ----------
        w : iterable of hashable
            A word of the language's length; it need not be feasible.

        Returns
        -------
        float array, shape (n + 1,)

        Raises
        ------
        InvalidWord, UnknownSymbol
            If `w` is not a word of the language's length over its alphabet.
        """
        from flint import ctx

        law = np.zeros(self.language.length + 1)
        with ctx.workprec(WORD_BITS + GUARD_BITS):
            for level, probability in self._law(self.language.encode(w)):
                law[level] = float(probability)
        return law

    def error_law(self, w: Iterable[Symbol]) -> ErrorLaw:
        """Return `distance_law` as an `ErrorLaw`."""
        from dpauto.laws import ErrorLaw

        return ErrorLaw.of(self.distance_law(w))

    def privacy_loss(self, distance: int) -> Fraction:
        """Return the bound epsilon * distance / b, for words that many substitutions apart.

        Parameters
        ----------
        distance : int
            At least 0.

        Raises
        ------
        InvalidArgument
            If `distance` is negative or not whole.
        """
        steps = min(self._parse_distance(distance), self.language.length)
        return self.privacy.epsilon * steps / self.privacy.adjacency

    def _attempt(self, word: IntArray, tape: Tape, attempt: int) -> IntArray:
        level = self._draw_distance(word, tape)
        near = mnfa(self.language.decode(word), level, self.language)
        return self.language.encode(near.word(tape.below(near.count())))

    def _draw_distance(self, word: IntArray, tape: Tape) -> int:
        """Return the first distance whose cumulative probability exceeds a uniform real."""
        chance = uniform_ball(tape)
        cumulative = chance - chance
        for level, probability in self._law(word):
            cumulative += probability
            if chance < cumulative:
                return level
            if not chance > cumulative:
                break
        raise Undecided

    def _law(self, word: IntArray) -> Iterator[tuple[int, arb]]:
        """Yield every distance that occurs with an interval around its probability."""
        from flint import arb

        counts = self.language.level_counts(self.language.decode(word))
        levels = [level for level, count in enumerate(counts) if count]
        a = self.privacy.exponent
        weight = {level: ball(-a * (level - levels[0])).exp() for level in levels}
        total = sum((counts[level] * weight[level] for level in levels), arb(0))
        for level in levels:
            others = [(counts[k] - (k == level), weight[k] / total) for k in levels]
            share = counts[level] * weight[level] / total
            yield level, share * _integral(others, total, weight[level] / total)


def _integral(factors: list[tuple[int, arb]], total: arb, rate: arb) -> arb:
    """Enclose the integral over 0 <= u <= Z of the product of (1 - y u)^N, given as (N, y).

    Substituting u = Z t keeps the integrand at the scale of exp(-u), however many words there are.
    Beyond u = c it is at most exp(-(1 - y_l) u), since 1 - x <= exp(-x) and the N y sum to
    1 - y_l; that tail is added as an interval.

    Parameters
    ----------
    factors : list of (int, arb)
        The first belongs to the nearest words.
    total : arb
        Z.
    rate : arb
        y_l = p_l / Z.
    """
    from flint import acb, arb, ctx

    cut = arb(ctx.prec)
    whole = not total > cut
    end = total if whole else cut
    (nearest, first), *rest = factors

    def integrand(u: acb, _analytic: bool) -> acb:
        """Return the product at a complex u, by its logarithm."""
        # log1p is analytic where 1 - y u has a positive real part; elsewhere say so.
        exponent = acb(0)
        for count, y in rest if whole else factors:
            if not (1 - y * u).real > 0:
                return acb("nan")
            exponent += count * (-y * u).log1p()
        # Up to u = Z the nearest words' factor reaches 0: a power, for the logarithm would not do.
        power = (1 - first * u) ** nearest if whole else acb(1)
        return power * exponent.exp()

    inside = acb.integral(integrand, 0, end).real
    if whole:
        return inside
    decay = 1 - rate
    tail = (-decay * cut).exp() / decay
    return inside + tail / 2 + arb(0, 1) * tail / 2
