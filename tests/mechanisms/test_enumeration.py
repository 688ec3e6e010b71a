"""The law itself, not a sample: mechanisms run on every string of bits.

A uniform real starts out as [0, 1] and is halved whenever a decision needs it. A branch that is
decided gives its mass to the word released; what is undecided after many branches stays unresolved.
So the law is enclosed: between what was resolved and that plus the rest.
"""

from __future__ import annotations

import heapq
import itertools
import sys
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import pytest

from dpauto.language import Language
from dpauto.mechanisms import Exponential, Online, PermuteAndFlip
from dpauto.mechanisms.base import Mechanism
from dpauto.mechanisms.race import run
from dpauto.passes import Undecided
from dpauto.randomness import Tape

Bits = tuple[tuple[int, int], ...]


class BranchingTape(Tape):
    """A tape that knows some bits of each uniform: (value, number of bits)."""

    __slots__ = ("_last", "_raced", "known")

    def __init__(self, known: Bits) -> None:
        super().__init__(None)
        self.bits = 1
        self.known = list(known)
        self._last = 0
        self._raced: list[int] = []

    def at(self, index: int) -> tuple[int, int]:
        self.known += [(0, 0)] * (index + 1 - len(self.known))
        self._last = index
        if sys._getframe(3).f_globals["__name__"].endswith(".race"):
            self._raced.append(index)
        return self.known[index]

    def below(self, bound: int) -> int:
        value, bits = self.at(self.reserve(1))
        drawn = value * bound >> bits
        if drawn != (value + 1) * bound - 1 >> bits:
            raise Undecided
        return drawn

    def below_many(self, count: int, bound: int) -> np.ndarray:
        return np.array([self.below(bound) for _ in range(count)], dtype=np.int64)

    def uniforms(self, count: int) -> np.ndarray:
        raise AssertionError("64 bits at once are for attempts in floats")

    def halved(self, mechanism: Mechanism) -> list[Bits]:
        """Both halves of a uniform that the undecided comparison depends on."""
        candidates = [self._last]
        race = self._raced
        if isinstance(mechanism, PermuteAndFlip) and race and self._last == race[-1]:
            # Read in turn: the deadline, then again and again a step of the clock and a chance.
            clock = race[1::2]
            candidates = [*clock, race[0] if len(race) % 2 == 0 else race[-1]]
        chosen = min(candidates, key=lambda k: (self.known[k][1], -k))
        value, bits = self.known[chosen]
        return [
            (*self.known[:chosen], (2 * value + half, bits + 1), *self.known[chosen + 1 :])
            for half in (0, 1)
        ]


def attempts_of(mechanism: Mechanism, numbers: np.ndarray) -> Callable[[Tape], np.ndarray]:
    """Attempts in interval arithmetic that share one backward pass."""
    if isinstance(mechanism, Online):
        return lambda tape: mechanism._attempt(numbers, tape, 1)
    proposals = mechanism._proposals(numbers, 1)
    return lambda tape: run(mechanism._race(proposals, tape), proposals, tape)


def enclosed_law(
    mechanism: Mechanism, word: str, branches: int
) -> tuple[dict[tuple[Hashable, ...], Fraction], Fraction]:
    """Return resolved mass per word released, and what is unresolved after so many branches."""
    from flint import ctx

    numbers = mechanism.language.encode(word)
    resolved: dict[tuple[Hashable, ...], Fraction] = {}
    order = itertools.count()
    open_branches: list[tuple[int, int, Bits]] = [(0, next(order), ())]
    with ctx.workprec(128):
        attempt = attempts_of(mechanism, numbers)
        for _ in range(branches):
            if not open_branches:
                break
            depth, _, known = heapq.heappop(open_branches)
            tape = BranchingTape(known)
            try:
                released = attempt(tape)
            except Undecided:
                for half in tape.halved(mechanism):
                    heapq.heappush(open_branches, (depth + 1, next(order), half))
                continue
            v = mechanism.language.decode(released)
            resolved[v] = resolved.get(v, Fraction(0)) + Fraction(1, 2**depth)
    return resolved, 1 - sum(resolved.values())


TWO = Language.of(["ab", "bb"], alphabet="abc")
FOUR = Language.of(["aba", "abb", "bbb", "cac"])


def law_of(mechanism: Mechanism, word: str) -> dict[tuple[Hashable, ...], Any]:
    oracle = {
        PermuteAndFlip: oracles.integral_law,
        Exponential: oracles.exponential_law,
        Online: oracles.online_law,
    }[type(mechanism)]
    return oracle(list(mechanism.language.words()), tuple(word), mechanism.exponent)


def inside(law: Any, resolved: Any, rest: Fraction) -> bool:
    tiny = 1e-15
    return all(
        float(resolved.get(v, 0)) - tiny <= float(p) <= float(resolved.get(v, 0) + rest) + tiny
        for v, p in law.items()
    )


@pytest.mark.parametrize(
    ("mechanism", "word", "branches", "unresolved"),
    [
        # Permute-and-flip compares several uniforms with each other, so its regions have slanted
        # borders, which squares fill slowly; the others compare one uniform at a time.
        (PermuteAndFlip(TWO, epsilon=2), "ab", 15_000, 0.06),
        (PermuteAndFlip(TWO, epsilon=2), "cc", 100, 1e-9),
        (PermuteAndFlip(FOUR, epsilon=3), "caa", 8_000, 0.12),
        (PermuteAndFlip(Language.all_words("abc", 1), epsilon=2), "b", 8_000, 0.04),
        (Exponential(TWO, epsilon=2), "ab", 4000, 1e-4),
        (Exponential(FOUR, epsilon=1), "aba", 8000, 2e-3),
        (Exponential(FOUR, epsilon=3), "caa", 8000, 1e-2),
        (Exponential(Language.all_words("abc", 1), epsilon=2), "b", 2000, 1e-9),
        (Online(FOUR, epsilon=2), "aba", 3000, 1e-9),
        (Online(FOUR, epsilon=1), "cbb", 3000, 1e-9),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "name", ""),
)
def test_the_law_is_enclosed(mechanism, word, branches, unresolved):
    resolved, rest = enclosed_law(mechanism, word, branches)
    assert rest <= unresolved
    assert set(resolved) == set(mechanism.language.words())
    assert inside(law_of(mechanism, word), resolved, rest)


def test_the_enclosure_tells_mechanisms_apart():
    resolved, rest = enclosed_law(PermuteAndFlip(TWO, epsilon=2), "ab", 12_000)
    assert not inside(law_of(Exponential(TWO, epsilon=2), "ab"), resolved, rest)
    assert not inside(law_of(PermuteAndFlip(TWO, epsilon="9/5"), "ab"), resolved, rest)
