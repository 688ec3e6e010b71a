"""Random walks of a Markov chain, also where dead ends must be avoided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpauto.arrays import Automaton
from dpauto.errors import EmptyLanguage, InvalidArgument, StateLimitExceeded
from dpauto.models._rows import FloatArray
from dpauto.randomness import Random, Tape, as_source, encode
from dpauto.words import IntArray

__all__ = ["draw_uniforms", "sample_walk"]

_CELL_LIMIT = 100_000_000


def draw_uniforms(rng: Random, count: int) -> list[float]:
    """Return uniform random numbers from 0 to 1 (excluded), for walks that release nothing.

    Parameters
    ----------
    rng : None, int, numpy Generator or bit source
        A seed, at least 0, or a Generator gives numpy's own numbers. As nothing is released, they
        need no warning.
    count : int

    Raises
    ------
    InvalidArgument
        If `rng` is something else, or a source of keyed bits, which would need an id.
    """
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        if rng < 0:
            raise InvalidArgument("rng: a seed must be at least 0")
        rng = np.random.default_rng(rng)
    if isinstance(rng, np.random.Generator):
        uniforms: list[float] = rng.random(count).tolist()
        return uniforms
    tape = Tape(as_source(rng).seeds([encode("walk")], None)[0])
    # The 53 bits that a float holds, so that none rounds up to 1.
    return [float(word >> 11) * 2.0**-53 for word in tape.uniforms(count).tolist()]


def sample_walk(
    automaton: Automaton,
    probability: FloatArray,
    survival: list[FloatArray],
    initial: int | None,
    uniforms: Sequence[float],
) -> IntArray:
    """Return the state numbers of a walk of as many steps as there are `uniforms`, shape (n,).

    Parameters
    ----------
    automaton : Automaton
        The chain's: its edges enter the state that they read.
    probability : float array, shape (E,)
        Of its edges.
    survival : list of float arrays, shape (N,)
        Entry k is log P(no dead end in the next k steps). It starts as [zeros], is extended where
        dead ends matter, and may be kept for the chain's next walk.
    initial : int or None
        Number of the state before the walk; None draws the first state uniformly.
    uniforms : sequence of float
        One for each step, from 0 to 1 (excluded).

    Raises
    ------
    EmptyLanguage
        If every walk of that length meets a dead end.
    StateLimitExceeded
        If dead ends matter and states times steps exceed a hundred million.
    """
    indptr, head, length = automaton.indptr, automaton.head, len(uniforms)
    if len(survival) < length and _meets_dead_ends(automaton, length):
        _extend(survival, automaton, probability, length)
    conditioned = len(survival) >= length
    walk = np.empty(length, dtype=np.int64)
    state = initial
    for i, u in enumerate(uniforms):
        if state is None:
            heads = automaton.start_head
            weights = np.ones(len(heads))
        else:
            row = slice(indptr[state], indptr[state + 1])
            heads, weights = head[row], probability[row]
        if conditioned:
            remaining = survival[length - 1 - i][heads]
            best = remaining.max(initial=-np.inf)
            if best == -np.inf:
                raise EmptyLanguage(f"length: every walk of {length} steps meets a dead end")
            weights = weights * np.exp(remaining - best)
        cumulative = np.cumsum(weights)
        # The last weights may be zero: stay below them even if u rounds up to the total.
        pick = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
        last = int(np.searchsorted(cumulative, cumulative[-1]))
        state = walk[i] = heads[min(pick, last)]
    return walk


def _meets_dead_ends(automaton: Automaton, length: int) -> bool:
    """Return whether a walk of `length` steps can meet a dead end before its last state."""
    stuck = np.diff(automaton.indptr) == 0
    if stuck.any():
        _, level = automaton.forward_levels(length - 1)
        stuck &= level > 0
    return bool(stuck.any()) or not automaton.start_head.size


def _extend(
    survival: list[FloatArray], automaton: Automaton, probability: FloatArray, length: int
) -> None:
    """Append to `survival` until it serves walks of `length` steps."""
    if automaton.n_states * length > _CELL_LIMIT:
        raise StateLimitExceeded(
            f"avoiding dead ends for {length} steps among {automaton.n_states} states needs more"
            f" than {_CELL_LIMIT} cells: shorten the walk or remove the dead ends"
        )
    nonempty = np.flatnonzero(np.diff(automaton.indptr))
    starts = automaton.indptr[nonempty]
    steps = np.log(probability)
    while len(survival) < length:
        ahead = np.full(automaton.n_states, -np.inf)
        if nonempty.size:
            ahead[nonempty] = np.logaddexp.reduceat(steps + survival[-1][automaton.head], starts)
        survival.append(ahead)
