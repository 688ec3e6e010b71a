"""Mechanisms with the faults that real ones have had, and sound ones beside them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import permutations
from typing import Any

import numpy as np
import oracles

from dpauto import NFA, Language
from dpauto.privacy import Privacy

Word = tuple[Hashable, ...]
Law = Mapping[Hashable, Any]


class Stated:
    """A mechanism given by its law; releases are drawn from it."""

    def __init__(self, language: Language, *, epsilon: Any, adjacency: int = 1) -> None:
        self.language = language
        self.privacy = Privacy.of(epsilon=epsilon, adjacency=adjacency)
        self.words = list(language.words())
        self._known: dict[Word, tuple[list[Hashable], np.ndarray]] = {}
        self._generator = np.random.default_rng(7)

    def probabilities(self, w: Word) -> Law:
        """The exponential mechanism, done right."""
        law = oracles.exponential_law(self.words, w, self.privacy.exponent)
        return {v: float(p) for v, p in law.items()}

    def release(self, w: Word) -> Hashable:
        if w not in self._known:
            law = self.probabilities(w)
            self._known[w] = list(law), np.cumsum([float(p) for p in law.values()])
        outputs, sums = self._known[w]
        return outputs[int(np.searchsorted(sums, self._generator.random() * sums[-1]))]


class HalfTheNoise(Stated):
    """Permute-and-flip with epsilon where epsilon / 2 belongs."""

    def probabilities(self, w: Word) -> Law:
        law = oracles.integral_law(self.words, w, 2 * self.privacy.exponent)
        return {v: float(p) for v, p in law.items()}


class SinglePrecision(Stated):
    """Weights in float32; when all of them underflow, the first word is as good as any."""

    def probabilities(self, w: Word) -> Law:
        distances = np.array([oracles.distance(w, v) for v in self.words], dtype=np.float32)
        weights = np.exp(-np.float32(self.privacy.exponent) * distances)
        total = float(weights.sum())
        if total == 0:
            return {self.words[0]: 1}
        return {v: float(x) / total for v, x in zip(self.words, weights, strict=True)}


class RunsForWords(Stated):
    """A distance drawn by its number of runs, then a word uniform among those at it."""

    def __init__(self, nfa: NFA, length: int, *, epsilon: Any) -> None:
        super().__init__(nfa.language(length), epsilon=epsilon)
        self.runs = {v: len(list(nfa.runs(v))) for v in self.words}

    def probabilities(self, w: Word) -> Law:
        a = float(self.privacy.exponent)
        level = {v: oracles.distance(w, v) for v in self.words}
        runs = dict.fromkeys(level.values(), 0.0)
        for v, d in level.items():
            runs[d] += self.runs[v] * np.exp(-a * d)
        total = sum(runs.values())
        sizes = oracles.level_counts(self.words, w)
        return {v: runs[d] / total / sizes[d] for v, d in level.items()}


class NearestForgotten(Stated):
    """Permute-and-flip with exp(-a d), not exp(-a (d - d*)): it may return nothing at all."""

    def probabilities(self, w: Word) -> Law:
        a = float(self.privacy.exponent)
        accept = [np.exp(-a * oracles.distance(w, v)) for v in self.words]
        orders = list(permutations(range(len(accept))))
        law: dict[Hashable, float] = dict.fromkeys([*self.words, None], 0.0)
        for order in orders:
            left = 1 / len(orders)
            for v in order:
                law[self.words[v]] += left * accept[v]
                left *= 1 - accept[v]
            law[None] += left
        return law


def two_words(length: int) -> Language:
    """All a or all b: between them one substitution moves the odds as far as it can."""
    return Language.of(["a" * length, "b" * length])


def ambiguous(copies: int) -> NFA:
    """Accepts aa and ab by one run each, bb by `copies` runs."""
    middle = [f"B{k}" for k in range(copies)]
    return NFA(
        states=["start", "A", *middle, "end"],
        alphabet="ab",
        transitions={
            "start": {"a": {"A"}, "b": set(middle)},
            "A": {"a": {"end"}, "b": {"end"}},
            **{state: {"b": {"end"}} for state in middle},
        },
        initial="start",
        final={"end"},
    )
