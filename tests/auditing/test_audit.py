"""The true epsilon on small languages: right for sound mechanisms, too large for broken ones."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import broken
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import (
    EmptyNeighbourhood,
    Exponential,
    InvalidArgument,
    Language,
    Online,
    PermuteAndFlip,
    StateLimitExceeded,
    audit,
)

ORACLES: dict[Any, Any] = {
    PermuteAndFlip: oracles.integral_law,
    Exponential: oracles.exponential_law,
    Online: oracles.online_law,
}


@pytest.mark.parametrize("mechanism", ORACLES)
@given(
    found=strategies.languages(max_length=3, max_words=14),
    epsilon=st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(12)]),
    b=strategies.adjacencies,
    over=st.sampled_from(["language", "all words"]),
)
@settings(max_examples=25)
def test_true_epsilon_by_enumeration(
    mechanism: Any, found: Any, epsilon: Fraction, b: int, over: str
) -> None:
    language, words = found
    if over == "language":
        inputs = words
    else:
        inputs = oracles.all_words(language.alphabet, language.length)
    if len(inputs) > 40:
        return
    made = mechanism(language, epsilon=epsilon, adjacency=b)
    law = ORACLES[mechanism]
    if not any(0 < oracles.distance(w, v) <= b for w in inputs for v in inputs):
        with pytest.raises(EmptyNeighbourhood):
            audit(made, over=over)
        return
    exponent = epsilon / b if mechanism is Online else epsilon / (2 * b)
    expected = oracles.true_epsilon(lambda w: law(words, w, exponent), inputs, b)
    found = audit(made, over=over)
    assert found == pytest.approx(expected, abs=1e-11)
    assert found.lower <= expected + 1e-13
    assert expected - 1e-13 <= found.upper
    assert found.upper - found.lower < 1e-11
    assert found.holds
    assert found.nominal == epsilon


def test_costs_are_audited_with_their_sensitivity() -> None:
    language = Language.of(["ab", "ba", "cc", "bb"])
    costs = {("a", "b"): 1, ("b", "a"): 1, ("a", "c"): 3, ("c", "a"): 3, ("b", "c"): Fraction(5, 2)}
    costs["c", "b"] = 2
    made = PermuteAndFlip(language, epsilon=4, costs=costs)

    def law(w: Any) -> Any:
        return oracles.integral_law(
            list(language.words()), w, made.exponent, lambda x, y: costs.get((x, y), 0)
        )

    inputs = oracles.all_words("abc", 2)
    found = audit(made, over="all words")
    assert found == pytest.approx(oracles.true_epsilon(law, inputs, 1), abs=1e-12)
    assert found.holds
    assert found.proved


def test_a_witness_shows_the_loss() -> None:
    made = PermuteAndFlip(Language.of(["aab", "abb", "bbb", "aaa"]), epsilon=3)
    found = audit(made)
    w, v, output = found.witness
    laws = [oracles.integral_law(list(made.language.words()), x, made.exponent) for x in (w, v)]
    assert oracles.distance(w, v) == 1
    assert math.log(laws[0][output] / laws[1][output]) == pytest.approx(found, abs=1e-12)
    assert "holds" in repr(found)
    copy = pickle.loads(pickle.dumps(found))
    assert (copy, copy.lower, copy.witness) == (found, found.lower, found.witness)


def test_randomized_response_spends_exactly_its_epsilon() -> None:
    found = audit(Online(Language.all_words("abc", 3), epsilon=2))
    assert found.lower <= 2 <= found.upper
    assert found.holds
    assert not found.proved


def test_large_weights_do_not_overflow() -> None:
    # a = 10,000: probabilities down to exp(-50,000).
    found = audit(Exponential(broken.two_words(5), epsilon=20_000), over="all words")
    assert found == pytest.approx(20_000, abs=1)
    assert found.holds


BROKEN = {
    "half the noise": broken.HalfTheNoise(broken.two_words(5), epsilon=1),
    "float32 weights": broken.SinglePrecision(broken.two_words(8), epsilon=60),
    "runs for words": broken.RunsForWords(broken.ambiguous(100), 2, epsilon=1),
    "d* forgotten": broken.NearestForgotten(Language.of(["aa", "bb"]), epsilon=1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_mechanisms_are_refuted(name: str) -> None:
    found = audit(BROKEN[name], over="all words")
    assert not found.holds
    assert not found.proved
    assert found > found.nominal * 1.5
    assert "broken" in repr(found)
    w, v, _ = found.witness
    assert oracles.distance(w, v) == 1


@pytest.mark.parametrize("name", ["float32 weights", "d* forgotten"])
def test_an_output_possible_for_one_word_only_is_an_infinite_loss(name: str) -> None:
    found = audit(BROKEN[name], over="all words")
    assert (found, found.lower, found.upper) == (math.inf,) * 3


def test_sound_counterparts_pass() -> None:
    for language in (broken.two_words(5), broken.ambiguous(30).language(2)):
        assert audit(PermuteAndFlip(language, epsilon=1), over="all words").holds
        assert audit(broken.Stated(language, epsilon=1), over="all words").holds


def test_large_languages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PermuteAndFlip(Language.all_words("abcd", 8), epsilon=1)
    with pytest.raises(StateLimitExceeded, match="audit_releases"):
        audit(large)
    wide = PermuteAndFlip(Language.of(["a" * 40, "b" * 40]), epsilon=1)
    with pytest.raises(StateLimitExceeded, match="audit_releases"):
        audit(wide, over="all words")
    monkeypatch.setattr("dpauto.auditing.exact.CELL_LIMIT", 10)
    with pytest.raises(StateLimitExceeded, match="audit_releases"):
        audit(PermuteAndFlip(Language.all_words("ab", 3), epsilon=1))


def test_what_cannot_be_audited() -> None:
    language = Language.all_words("ab", 2)
    with pytest.raises(InvalidArgument, match="over"):
        audit(PermuteAndFlip(language, epsilon=1), over="words")
    stranger: Any = SimpleNamespace(language=language, name="laplace")
    with pytest.raises(InvalidArgument, match="probabilities"):
        audit(stranger)
    negative: Any = broken.Stated(language, epsilon=1)
    negative.probabilities = lambda _: {"x": -1.0}
    with pytest.raises(InvalidArgument, match="not negative"):
        audit(negative)
