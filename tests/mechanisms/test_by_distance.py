"""Mechanism 1 against Definition 4 and against `PermuteAndFlip`."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpauto import KeyedBits, Language, MarkovChain, PermuteAndFlip, SeededBits
from dpauto.examples import sioux_falls
from dpauto.mechanisms.by_distance import PermuteAndFlipByDistance
from dpauto.randomness import Tape


@given(st.data(), strategies.epsilons, strategies.adjacencies)
@settings(max_examples=40)
def test_distance_law_is_that_of_the_definition(
    data: st.DataObject, epsilon: tuple[Any, Fraction], adjacency: int
) -> None:
    language, words = data.draw(strategies.languages(max_words=40))
    w = data.draw(strategies.words(list(language.alphabet), language.length))
    written, exact = epsilon
    mechanism = PermuteAndFlipByDistance(language, epsilon=written, adjacency=adjacency)
    law = oracles.integral_law(words, w, exact / (2 * adjacency))
    expected = [float(p) for p in oracles.by_distance(law, w)]
    assert mechanism.distance_law(w) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 3, 12])
@pytest.mark.parametrize("initial", [1, None])
def test_distance_law_is_that_of_permute_and_flip_where_words_cannot_be_listed(
    epsilon: Any, initial: int | None
) -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=initial).language(25)
    w = language.random_word(1)
    law = PermuteAndFlip(language, epsilon=epsilon, adjacency=2).error_law(w)
    mechanism = PermuteAndFlipByDistance(language, epsilon=epsilon, adjacency=2)
    assert mechanism.distance_law(w) == pytest.approx(law.pmf, abs=1e-12)
    assert mechanism.error_law(w).mean == pytest.approx(law.mean, abs=1e-11)


@pytest.mark.parametrize("w", ["abc", "cca"])
def test_releases_follow_the_law_word_by_word(w: str) -> None:
    words = ["abc", "abb", "acc", "bbc", "bab", "cab", "aac"]
    mechanism = PermuteAndFlipByDistance(Language.of(words), epsilon=3)
    law = oracles.subset_sum_law([tuple(v) for v in words], tuple(w), Fraction(3, 2))
    bits = SeededBits(11)
    draws = 1200
    seen = Counter("".join(mechanism.release(w, bits)) for _ in range(draws))
    expected = np.array([float(law[tuple(v)]) for v in words])
    assert chisquare([seen[v] for v in words], draws * expected / expected.sum()).pvalue > 1e-4


def test_more_bits_of_the_same_uniforms_give_the_same_release() -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=1).language(6)
    mechanism = PermuteAndFlipByDistance(language, epsilon=2)
    word = language.encode([2, 6, 8, 9, 10, 11])
    from flint import ctx

    for seed in range(5):
        tape = Tape(bytes([seed]) * 32)
        released = []
        for attempt in range(3):
            tape.rewind(64 << attempt)
            with ctx.workprec(tape.bits + 32):
                released.append(mechanism._attempt(word, tape, attempt).tolist())
        assert released[0] == released[1] == released[2]


def test_is_a_mechanism_like_the_others() -> None:
    language = Language.all_words("ab", 4)
    mechanism = PermuteAndFlipByDistance(language, epsilon=3, adjacency=2)
    assert mechanism.privacy_loss(1) == Fraction(3, 2)
    keyed = KeyedBits(b"0123456789abcdef")
    again = [mechanism.release("abab", keyed, record=7) for _ in range(3)]
    assert again[0] == again[1] == again[2]
    assert "abab" not in repr(mechanism)
