"""Moments by partition functions agree with those of the full law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import InvalidArgument, Language, MarkovChain
from dpauto.laws import error_law, error_moments, moments, offline_moments
from dpauto.laws.moments import partition_functions
from dpauto.words import Costs

exponents = st.sampled_from([Fraction(1, 8), Fraction(1, 2), Fraction(3, 2), Fraction(9)])
mechanisms = st.sampled_from(["permute-and-flip", "exponential"])


def ring(size: int) -> MarkovChain:
    """Stay, or go on by one or by two."""
    return MarkovChain(
        states=range(size),
        transitions={k: {(k + s) % size: 1 / 3 for s in (0, 1, 2)} for k in range(size)},
        initial=0,
    )


def agree(language: Language, word: Any, a: Fraction, mechanism: str, costs: Any = None) -> None:
    law = error_law(language, word, a, mechanism, costs=costs)
    found = offline_moments(language, word, a, mechanism, costs=costs)
    assert found.mean == pytest.approx(law.mean, abs=1e-11)
    assert found.variance == pytest.approx(law.variance, abs=1e-11 * max(1, law.mean**2))
    if costs is None:
        assert found.unchanged == pytest.approx(law.pmf[0], abs=1e-12)


@given(strategies.languages(), exponents, mechanisms, st.data())
@settings(max_examples=60)
def test_both_routes_agree(
    found: tuple[Language, list[oracles.Word]], a: Fraction, mechanism: str, data: st.DataObject
) -> None:
    language, _ = found
    word = language.encode(data.draw(strategies.words(language.alphabet, language.length)))
    agree(language, word, a, mechanism)


@given(strategies.languages(max_length=3), exponents, mechanisms, st.data())
@settings(max_examples=30)
def test_both_routes_agree_under_costs(
    found: tuple[Language, list[oracles.Word]], a: Fraction, mechanism: str, data: st.DataObject
) -> None:
    language, _ = found
    if len(language.alphabet) < 2:
        return
    try:
        costs = Costs(data.draw(strategies.costs(list(language.alphabet))), language.alphabet)
    except InvalidArgument:
        return
    word = language.encode(data.draw(strategies.words(language.alphabet, language.length)))
    agree(language, word, a, mechanism, costs)


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("a", [Fraction(1, 4), Fraction(5)])
def test_sums_beyond_the_floats(a: Fraction, mechanism: str) -> None:
    # 3**700 words: the values are rescaled, state by state, several times on the way.
    language = ring(5).language(700)
    word = np.arange(700) % 5
    agree(language, word, a, mechanism)
    nowhere = np.full(700, 3)
    nowhere[::2] = 0
    agree(language, nowhere, a, mechanism)


def test_partition_functions_by_enumeration() -> None:
    language = ring(5).language(4)
    words = oracles.graph_words({k: [k, (k + 1) % 5, (k + 2) % 5] for k in range(5)}, 4, 0)
    w, a = (0, 4, 0, 4), Fraction(2, 3)
    distances = np.array([oracles.distance(w, v) for v in words])
    beyond = distances - distances.min()
    found = partition_functions(language, language.encode(w), a, first=2, n_powers=3)
    assert found.least == distances.min() > 0
    assert found.nearest == (beyond == 0).sum() > 1
    for k, j in enumerate([2, 3, 4]):
        p = np.where(beyond > 0, np.exp(-float(a) * j * beyond), 0)
        assert found.sums[k] == pytest.approx(p.sum(), rel=1e-14)
        assert found.firsts[k] == pytest.approx((beyond * p).sum(), rel=1e-14)
        assert found.seconds[k] == pytest.approx((beyond**2 * p).sum(), rel=1e-14)


def test_blocks_of_terms_do_not_change_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    language = ring(5).language(6)
    word = language.encode((0, 1, 1, 2, 4, 0))
    whole = offline_moments(language, word, Fraction(1, 4))
    monkeypatch.setattr(moments, "BLOCK", 1)
    assert offline_moments(language, word, Fraction(1, 4)) == pytest.approx(whole, abs=1e-12)


def test_all_words_take_the_closed_form() -> None:
    language = Language.all_words("abc", 2000)
    word = language.encode("abca" * 500)
    closed = error_moments(language, word, Fraction(2))
    assert offline_moments(language, word, Fraction(2)) == pytest.approx(closed, rel=1e-10)


def test_costs_too_large_for_exact_sums_are_refused() -> None:
    language = ring(3).language(4)
    costs = Costs([[0, 2**61, 1], [1, 0, 1], [1, 1, 0]], language.alphabet)
    with pytest.raises(InvalidArgument, match="too large"):
        error_moments(language, language.encode((0, 1, 2, 2)), Fraction(1), costs=costs)
