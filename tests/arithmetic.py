"""Draw releases cheaply, and make the arithmetic they rest on as bad as it is allowed to be.

The one place where tests reach into how a release is run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dpauto.mechanisms import Online, base, offline
from dpauto.mechanisms.base import Mechanism
from dpauto.mechanisms.race import run
from dpauto.passes import FloatPass, Undecided
from dpauto.randomness import Tape

Word = tuple[Hashable, ...]


def tapes(count: int, name: str = "") -> Iterator[Tape]:
    """Tapes of independent seeds, the same ones for the same name."""
    for k in range(count):
        yield Tape(hashlib.sha256(f"{name}/{k}".encode()).digest())


def draws(mechanism: Mechanism, word: Iterable[Hashable], count: int) -> list[Word]:
    """Releases of one word: what `release` does, but with one backward pass for all of them."""
    numbers = mechanism.language.encode(word)
    if isinstance(mechanism, Online):
        found = [mechanism._release(numbers, tape) for tape in tapes(count)]
        return [mechanism.language.decode(v) for v in found]
    released = []
    with mechanism._precision(0):
        proposals = mechanism._proposals(numbers, 0)
    for tape in tapes(count):
        try:
            with mechanism._precision(0):
                drawn = run(mechanism._race(proposals, tape), proposals, tape)
        except Undecided:
            drawn = mechanism._release(numbers, tape, 1)
        released.append(mechanism.language.decode(drawn))
    proposals.close()
    return released


def coarse_pass(bits: int) -> type[FloatPass]:
    """A float pass with a unit roundoff of 2**-bits that uses up the errors it is allowed.

    Every entry of every layer is moved, up or down at random, by almost as much as the bound on the
    roundings of one layer says.
    """

    class CoarsePass(FloatPass):
        unit = 2.0**-bits

        # Layer by layer, so that each uses the errors of the one after it.
        longest = 1

        def _after(self, low: int, high: int, part: Any) -> None:
            # Seeded by the layer, because a layer may be computed twice.
            errors = np.random.default_rng(low).uniform(-1, 1, part.shape)
            part *= 1 + (self.weights.roundings - 1) * self.unit * errors

    return CoarsePass


@contextmanager
def coarse(bits: int) -> Iterator[list[int]]:
    """Let first attempts use a `coarse_pass`; yields the numbers of the attempts made."""
    attempts: list[int] = []
    original = offline.Offline._attempt

    def counted(self: Any, word: Any, tape: Tape, attempt: int) -> Any:
        attempts.append(attempt)
        return original(self, word, tape, attempt)

    replacement = coarse_pass(bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline.Offline, "_attempt", counted)
        for name, module in list(sys.modules.items()):
            if name.startswith("dpauto.mechanisms") and hasattr(module, "FloatPass"):
                patch.setattr(module, "FloatPass", replacement)
        yield attempts


@contextmanager
def few_bits(bits: int) -> Iterator[None]:
    """Let first attempts read only so many bits of each uniform, later ones twice as many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "WORD_BITS", bits)
        yield


def in_balls(mechanism: Mechanism, word: Iterable[Hashable], tape: Tape) -> Word:
    """A release computed in interval arithmetic from the start."""
    numbers = mechanism.language.encode(word)
    return mechanism.language.decode(mechanism._release(numbers, tape, 1))
