"""Releases against the matrix products that a pass over the network cannot do without.

"Bare" is n products of SciPy's CSR matrix with a vector (or a block of vectors), nothing stored and
nothing drawn. Public set-up (model, language, mechanism) is made before and stated apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Finding, Limit, amount, interleave, isolated, ratio, row
from benchmarks.workloads import bare_products, cut_out, epsilon_for, grid, middle, walks
from dpauto import Language, MarkovChain, PermuteAndFlip


@row("grid-half", side=8, length=12)
def grid_half(rounds: int, *, side: int = 100, length: int = 1000) -> Iterator[Finding]:
    """One release at ε/(2b) = 1/2, which strays far from the trip, against bare products."""
    yield _one_release(rounds, side, length, 0.5, Limit(1.1))


@row("grid-two", side=8, length=12)
def grid_two(rounds: int, *, side: int = 100, length: int = 1000) -> Iterator[Finding]:
    """One release at ε/(2b) = 2, which stays near the trip, against bare products."""
    yield _one_release(rounds, side, length, 2, Limit(0.25))


def _one_release(rounds: int, side: int, length: int, exponent: float, limit: Limit) -> Finding:
    matrix = grid(side)
    chain = MarkovChain.from_matrix(matrix, initial=middle(side))
    mechanism = PermuteAndFlip(chain.language(length), epsilon=epsilon_for(exponent))
    # Draws differ in how many proposals they need: several words to a round.
    words = walks(chain, length, 3 * (rounds + 1))
    ones = np.ones(side * side)

    def release(number: int) -> None:
        for word in words[3 * number : 3 * number + 3]:
            mechanism.release(word)

    def bare(_: int) -> None:
        for _ in range(3):
            bare_products(matrix, ones, length)

    ours, theirs = interleave(rounds, release, bare)
    return ratio(
        f"one release, {side**2:,}-state grid, n = {length}, ε/(2b) = {exponent}",
        "bare products with a vector",
        ours.per(3),
        theirs.per(3),
        limit=limit,
    )


@row("batch", side=6, length=10, words=20)
def batch(
    rounds: int, *, side: int = 32, length: int = 100, words: int = 1000
) -> Iterator[Finding]:
    """Many words in one batch against bare products with as many columns."""
    matrix = grid(side)
    chain = MarkovChain.from_matrix(matrix, initial=middle(side))
    mechanism = PermuteAndFlip(chain.language(length), epsilon=epsilon_for(0.5))
    trips = walks(chain, length, words)
    block = np.ones((side * side, words))
    ours, theirs = interleave(
        rounds,
        lambda _: mechanism.release_many(trips),
        lambda _: bare_products(matrix, block, length),
    )
    yield ratio(
        f"{words:,} distinct words, {side**2:,}-state grid, n = {length}, ε/(2b) = 1/2, one batch",
        f"bare products with {words:,} columns",
        ours,
        theirs,
        limit=Limit(1.0),
    )


@row("big-grid", side=40, length=6)
def big_grid(rounds: int, *, side: int = 1000, length: int = 100) -> Iterator[Finding]:
    """One release in a huge network against the same on the neighbourhood it can reach."""
    yield from _big_grid(rounds, side, length, anywhere=False)


@row("big-grid-anywhere", side=40, length=6)
def big_grid_anywhere(rounds: int, *, side: int = 1000, length: int = 100) -> Iterator[Finding]:
    """The same where a trip may start in any cell, so that every cell matters."""
    yield from _big_grid(rounds, side, length, anywhere=True)


def _big_grid(rounds: int, side: int, length: int, *, anywhere: bool) -> Iterator[Finding]:
    whole, start = grid(side), middle(side)
    part, cells = cut_out(whole, start, length)
    initial = None if anywhere else start
    guide = MarkovChain.from_matrix(part, states=cells, initial=start)
    words = walks(guide, length, rounds + 1)
    epsilon = epsilon_for(2)
    big, small = (
        PermuteAndFlip(chain.language(length), epsilon=epsilon)
        for chain in (
            MarkovChain.from_matrix(whole, initial=initial),
            MarkovChain.from_matrix(part, states=cells, initial=initial),
        )
    )
    where = "any cell may start" if anywhere else "start in the middle"
    ours, theirs = interleave(
        rounds, lambda k: big.release(words[k]), lambda k: small.release(words[k])
    )
    name = f"{side**2:,}-state grid, n = {length}, ε/(2b) = 2, {where}"
    yield ratio(
        f"one release, {name}",
        f"the same on the {len(cells):,} cells within n steps of the middle",
        ours,
        theirs,
        limit=Limit(1.5),
    )
    alone = [
        isolated(load_and_release, side=side, length=length, anywhere=anywhere)
        for _ in range(rounds)
    ]
    steps = {step: [run.value[step] for run in alone] for step in alone[0].value}
    yield amount(
        f"load from a sparse matrix: model, language and mechanism, {name}",
        [sum(times) for times in zip(steps["model"], steps["language"], strict=True)],
        "s",
        at_most=10,
        detail="; ".join(f"{step} {np.median(times):.3g} s" for step, times in steps.items()),
    )
    yield amount(
        f"peak memory of load and first release, {name}",
        [run.peak for run in alone],
        "MiB",
        at_most=2048,
        detail="in a process of its own, the matrix included",
    )


def load_and_release(side: int, length: int, anywhere: bool) -> dict[str, float]:
    """Load a grid and release one word; returns the seconds of each step."""
    import time

    matrix, start = grid(side), middle(side)
    marks = [time.perf_counter()]
    chain = MarkovChain.from_matrix(matrix, initial=None if anywhere else start)
    marks.append(time.perf_counter())
    mechanism = PermuteAndFlip(chain.language(length), epsilon=epsilon_for(2))
    marks.append(time.perf_counter())
    mechanism.release(_straight_there_and_back(start, length))
    marks.append(time.perf_counter())
    steps = np.diff(marks).tolist()
    return dict(zip(("model", "language", "first release"), steps, strict=True))


def _straight_there_and_back(start: int, length: int) -> list[int]:
    """A feasible trip that needs no sampling: one cell to the right and back, again and again."""
    return [start + (k % 2 == 0) for k in range(length)]


@row("all-words", length=1000, symbols=10)
def all_words(rounds: int, *, length: int = 10**6, symbols: int = 1000) -> Iterator[Finding]:
    """A word where every word is feasible against numpy drawing two uniforms a symbol."""
    mechanism = PermuteAndFlip(Language.all_words(range(symbols), length), epsilon=20)
    rng: Any = np.random.default_rng(1)
    word = tuple(rng.integers(symbols, size=length).tolist())
    ours, theirs = interleave(
        rounds, lambda _: mechanism.release(word), lambda _: rng.random(2 * length)
    )
    yield ratio(
        f"one release, all words, n = {length:,}, m = {symbols:,}, ε = 20, b = 1, a tuple of ints",
        "numpy drawing 2 n uniforms",
        ours,
        theirs,
        limit=Limit(8),
    )
