"""Against privacy libraries, which choose among candidates that are listed with their scores.

All words of length n over m letters, in one law: a word at distance d from the true one is kept
with chance exp(-ε d / 2). The peers' set-up (listing the words, scoring them, building the
mechanism) is stated apart; the ratio is that of a draw. Both laws are also compared with the exact
one, on a language small enough for many draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import Finding, Limit, interleave, peer, ratio, row, seconds_text
from dpauto import Language, PermuteAndFlip
from dpauto.words import Word

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"

#: Takes a word, an alphabet and ε; returns a function that draws a word.
Build = Callable[[Word, str, float], Callable[[], Word]]


@row("diffprivlib", symbols=2, length=3, epsilons=(4,), draws=200)
def diffprivlib(
    rounds: int,
    *,
    symbols: int = 4,
    length: int = 8,
    epsilons: Sequence[float] = (1, 4, 10),
    draws: int = 4000,
) -> Iterator[Finding]:
    """Permute-and-flip over all words against diffprivlib, which lists them."""
    mechanisms = peer("diffprivlib.mechanisms", "diffprivlib")

    def build(word: Word, alphabet: str, epsilon: float) -> Callable[[], Word]:
        words = list(product(alphabet, repeat=len(word)))
        mechanism = mechanisms.PermuteAndFlip(
            epsilon=epsilon,
            sensitivity=1,
            utility=(-_distances(word, alphabet)).tolist(),
            candidates=words,
        )
        draw: Callable[[], Word] = mechanism.randomise
        return draw

    yield from _compare("diffprivlib", build, rounds, symbols, length, epsilons, draws, 1000)


@row("opendp", symbols=2, length=3, epsilons=(4,), draws=200)
def opendp(
    rounds: int,
    *,
    symbols: int = 4,
    length: int = 8,
    epsilons: Sequence[float] = (1, 4, 10),
    draws: int = 4000,
) -> Iterator[Finding]:
    """Permute-and-flip over all words against OpenDP's noisy max on a prebuilt array of scores."""
    dp: Any = peer("opendp.prelude", "opendp")
    dp.enable_features("contrib")

    def build(word: Word, alphabet: str, epsilon: float) -> Callable[[], Word]:
        space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
        # Adding exponential noise of this scale and taking the largest is permute-and-flip.
        mechanism = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2 / epsilon)
        scores = -_distances(word, alphabet).astype(np.int32)
        words = list(product(alphabet, repeat=len(word)))
        return lambda: words[mechanism(scores)]

    yield from _compare("OpenDP", build, rounds, symbols, length, epsilons, draws, 50)


def _compare(
    name: str,
    build: Build,
    rounds: int,
    symbols: int,
    length: int,
    epsilons: Sequence[float],
    draws: int,
    target: float,
) -> Iterator[Finding]:
    alphabet = SYMBOLS[:symbols]
    word = tuple(alphabet[k % symbols] for k in range(length))
    for epsilon in epsilons:
        started = time.perf_counter()
        mechanism = PermuteAndFlip(Language.all_words(alphabet, length), epsilon=epsilon)
        mechanism.release(word)
        built = time.perf_counter()
        draw = build(word, alphabet, epsilon)
        set_up = [built - started, time.perf_counter() - built]
        ours, theirs = interleave(
            rounds,
            _every_round(partial(mechanism.release, word)),
            _every_round(draw),
            repeat=(50, _draws_in_a_second(draw)),
        )
        checks = _law_check(build, epsilon, draws)
        yield ratio(
            f"one release, all {symbols}^{length} words, ε = {epsilon}, b = 1",
            f"{name}, a draw",
            ours,
            theirs,
            speed_up=True,
            limit=Limit(target, at_least=True) if epsilon == 4 else None,
            detail=f"set-up {seconds_text(set_up[0])} and {seconds_text(set_up[1])};"
            f" same law: p = {checks[0]:.2f} and {checks[1]:.2f}",
        )


def _draws_in_a_second(draw: Callable[[], object]) -> int:
    """Return how many draws take about a second, at most 50: single ones differ tenfold in time."""
    started, count = time.perf_counter(), 0
    while count < 50 and time.perf_counter() < started + 1:
        draw()
        count += 1
    return count


def _every_round(work: Callable[[], object]) -> Callable[[int], object]:
    """Return the same work for every round."""
    return lambda _: work()


def _law_check(build: Build, epsilon: float, draws: int) -> list[float]:
    """Return how likely draws at least this far from the exact law are, for dpauto and the peer.

    Pearson's test on the distances; cells of fewer than 5 expected draws are put together.
    """
    from scipy.stats import chisquare

    alphabet, word = "ab", tuple("aba")
    mechanism = PermuteAndFlip(Language.all_words(alphabet, len(word)), epsilon=epsilon)
    expected = mechanism.error_law(word).pmf * draws
    draw = build(word, alphabet, epsilon)
    chances = []
    for source in (mechanism.release_many([word] * draws), [draw() for _ in range(draws)]):
        seen = np.zeros(len(word) + 1)
        for written in source:
            seen[sum(a != b for a, b in zip(word, written, strict=True))] += 1
        rare = expected < 5
        observed, law = (np.append(v[~rare], v[rare].sum()) for v in (seen, expected))
        kept = law > 0
        chances.append(float(chisquare(observed[kept], law[kept]).pvalue))
    return chances


def _distances(word: Word, alphabet: str) -> Any:
    """Hamming distances of all words, in the order of itertools.product; int64."""
    total = np.zeros(1, dtype=np.int64)
    for symbol in word:
        wrong = np.array([s != symbol for s in alphabet], dtype=np.int64)
        total = np.add.outer(total, wrong).ravel()
    return total
