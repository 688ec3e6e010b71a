"""Lower bounds on epsilon from releases: they find broken mechanisms and spare sound ones."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import broken
import numpy as np
import pytest
from scipy.stats import binomtest

from dpauto import InvalidArgument, Language, Online, PermuteAndFlip, audit, audit_releases
from dpauto.auditing.sampled import _bound

# mechanism, adjacent words; float32 needs long words to underflow at a small epsilon.
BROKEN = {
    "half the noise": (broken.HalfTheNoise(broken.two_words(5), epsilon=1), "aaabb", "aabbb"),
    "float32 weights": (
        broken.SinglePrecision(broken.two_words(415), epsilon=1),
        "a" * 208 + "b" * 207,
        "a" * 207 + "b" * 208,
    ),
    "runs for words": (broken.RunsForWords(broken.ambiguous(100), 2, epsilon=1), "aa", "ab"),
    "d* forgotten": (broken.NearestForgotten(Language.of(["aa", "bb"]), epsilon=1), "aa", "ab"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_mechanisms_are_found(name: str) -> None:
    mechanism, w, v = BROKEN[name]
    assert audit_releases(mechanism.release, w, v, samples=6000) > mechanism.privacy.epsilon
    # Whichever word comes first.
    assert audit_releases(mechanism.release, v, w, samples=6000) > mechanism.privacy.epsilon


def test_sound_mechanisms_are_spared() -> None:
    for language, w, v in [
        (broken.two_words(5), "aaabb", "aabbb"),
        (broken.ambiguous(9).language(2), "aa", "ab"),
    ]:
        for mechanism in (PermuteAndFlip(language, epsilon=1), Online(language, epsilon=1)):
            true = audit(mechanism, over="all words")
            release = partial(mechanism.release, rng=np.random.default_rng(3))
            found = audit_releases(release, w, v, samples=400)
            assert 0 <= found <= true.upper <= 1 + 1e-9


def test_a_mechanism_is_asked_for_all_releases_at_once() -> None:
    class Counting:
        calls = 0

        def release_many(self, words: list[Any]) -> list[Any]:
            self.calls += 1
            return words

    mechanism = Counting()
    assert audit_releases(mechanism, "a", "b", samples=100) > 2
    assert mechanism.calls == 2


def test_given_events() -> None:
    rng = np.random.default_rng(5)

    def release(word: Any) -> str:
        keep = rng.random() < 0.9
        return word[0] if keep else {"a": "b", "b": "a"}[word[0]]

    truth = math.log(9)
    by_set = audit_releases(release, "a", "b", samples=4000, events=[{"a"}])
    by_call = audit_releases(
        release, "a", "b", samples=4000, events=[lambda o: o == "b", {"a", "b"}]
    )
    for found in (by_set, by_call):
        assert truth - 0.4 < found < truth
    assert audit_releases(release, "a", "b", samples=4000, events=[{"a", "b"}]) == 0


def test_the_bound_is_right_as_often_as_it_says() -> None:
    # Randomized response at epsilon = 1: at most one bound in five may exceed it at 80 %.
    rng = np.random.default_rng(11)
    keep = math.e / (1 + math.e)

    def release(word: Any) -> Any:
        return word[0] if rng.random() < keep else {"a": "b", "b": "a"}[word[0]]

    wrong = sum(
        audit_releases(release, "a", "b", samples=200, confidence=0.8) > 1 for _ in range(100)
    )
    assert wrong <= 30


@pytest.mark.parametrize(("hits", "others"), [(0, 0), (3, 0), (20, 20), (20, 0), (12, 5)])
def test_limits_are_clopper_pearson(hits: int, others: int) -> None:
    error, n = 0.02, 20
    # A two-sided interval at 1 - 2 error has one-sided limits at error.
    low = binomtest(hits, n).proportion_ci(1 - 2 * error, "exact").low
    high = binomtest(others, n).proportion_ci(1 - 2 * error, "exact").high
    expected = math.log(low / high) if low else -math.inf
    assert float(_bound(hits, others, n, error)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"samples": 1}, "samples"),
        ({"confidence": 0}, "confidence"),
        ({"confidence": 1.0}, "confidence"),
        ({"events": []}, "events"),
    ],
)
def test_arguments_out_of_range(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        audit_releases(lambda w: w, "a", "b", **({"samples": 10} | changes))
