"""Permute-and-flip and the exponential mechanism, drawn from proposals.

`Proposals` are what a pass over the words offers: the nearest words T and their number, the total
weight Z' of the others relative to one of T, and a word drawn from either. The two generators turn
them into a release: they yield whenever they want a word from outside T and are sent one, so that a
batch can draw the words of many releases at once; what they return is the release. Every decision
compares balls; one that is not certain raises `Undecided`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dpauto.passes import Undecided, uniform_ball
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Proposals", "Race", "exponential", "permute_and_flip", "run"]

#: Yields to ask for a word outside T (None if the proposal never happened); returns the release.
Race: TypeAlias = Generator[None, "IntArray | None", IntArray]


class Proposals(Protocol):
    """Words around a sensitive one, by weight."""

    @property
    def count(self) -> int:
        """N0, the number of nearest words."""
        ...

    @property
    def outside(self) -> arb:
        """Z', or a dominating value if `draw_outside` may return None."""
        ...

    @property
    def largest(self) -> arb:
        """r, a bound below 1 on the weight of every word outside T."""
        ...

    def weight(self, word: IntArray) -> arb:
        """p_v, the weight of a word relative to one of T."""
        ...

    def draw_nearest(self, tape: Tape) -> IntArray:
        """A uniform word of T."""
        ...

    def draw_outside(self, tape: Tape) -> IntArray | None:
        """A word outside T in proportion to its weight; None is a proposal that never happened."""
        ...

    def close(self) -> None:
        """Say that nothing more is drawn."""
        ...


def permute_and_flip(proposals: Proposals, tape: Tape) -> Race:
    """Draw from permute-and-flip by thinning a race.

    Give every word an independent uniform arrival time on [0, 1] and accept it with probability
    p_v: permute-and-flip returns the first accepted. At time t the word v is accepted at the rate
    p_v / (1 - p_v t). The first of T arrives at T0 = 1 - U^(1/N0). The others are proposed at the
    dominating rate Z' / (1 - r t), which makes -log(1 - r t) grow by r E / Z' from one proposal to
    the next, E exponential, and kept with probability (1 - r t) / (1 - p_v t).

    References
    ----------
    McKenna and Sheldon, arXiv 2010.12603 (permute-and-flip); Ding et al., arXiv 2105.07260 (its
    exponential clocks). The derivation is on the docs' page about permute-and-flip.
    """
    from flint import arb

    total = proposals.outside
    if total.is_zero():
        return proposals.draw_nearest(tape)
    largest = proposals.largest
    deadline = -(uniform_ball(tape).log() / proposals.count).expm1()
    clock = arb(0)
    while True:
        clock -= uniform_ball(tape).log()
        grown = largest * clock / total
        time = -(-grown).expm1() / largest
        if _surely(deadline, time):
            return proposals.draw_nearest(tape)
        word = yield
        chance = uniform_ball(tape)
        if word is None:
            continue
        if _surely(chance * (1 - proposals.weight(word) * time), (-grown).exp()):
            return word


def exponential(proposals: Proposals, tape: Tape) -> Race:
    """Draw from the exponential mechanism: each word in proportion to its weight.

    References
    ----------
    Chen, Leahy, Jones and Hale, arXiv 2202.03325.
    """
    from flint import arb

    total, nearest = proposals.outside, arb(proposals.count)
    while True:
        if total.is_zero():
            return proposals.draw_nearest(tape)
        if _surely(uniform_ball(tape) * (total + nearest), nearest):
            return proposals.draw_nearest(tape)
        word = yield
        if word is not None:
            return word


def run(race: Race, proposals: Proposals, tape: Tape) -> IntArray:
    """Run a race to its end, drawing each word when it is asked for."""
    try:
        next(race)
        while True:
            race.send(proposals.draw_outside(tape))
    except StopIteration as end:
        released: IntArray = end.value
        return released


def _surely(left: Any, right: Any) -> bool:
    """Whether left < right, for two balls of reals that are almost surely different."""
    if left < right:
        return True
    if left > right:
        return False
    raise Undecided
