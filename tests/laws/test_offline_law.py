"""Exact laws of permute-and-flip and the exponential mechanism, against enumeration."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import EmptyLanguage, InvalidArgument, Language, StateLimitExceeded
from dpauto.laws import (
    error_law,
    exponential_law,
    law_on_all_words,
    permute_and_flip_law,
)
from dpauto.laws.polynomials import level_counts_in_floats
from dpauto.words import Costs

EXPECTED = Path(__file__).parent.parent / "expected"
LAWS = {"permute_and_flip": permute_and_flip_law, "exponential": exponential_law}
ORACLES = {"permute-and-flip": oracles.integral_law, "exponential": oracles.exponential_law}
exponents = st.sampled_from([Fraction(1, 50), Fraction(1, 2), Fraction(3, 2), Fraction(20)])
mechanisms = st.sampled_from(list(ORACLES))


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads((EXPECTED / f"{name}.json").read_text())


def exponent(case: dict[str, Any]) -> Fraction:
    return Fraction(str(case["epsilon"])) / (2 * case["adjacency"])


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("case", cases("restricted_languages"), ids=lambda c: c["name"])
def test_known_laws_on_small_languages(case: dict[str, Any], mechanism: str) -> None:
    law = LAWS[mechanism](case["level_counts"], exponent(case))
    np.testing.assert_allclose(law.pmf, np.array(case[mechanism], dtype=float), rtol=0, atol=1e-14)
    assert law.mean == pytest.approx(float(case[f"{mechanism}_mean"]), abs=1e-13)


@pytest.mark.parametrize("case", cases("unconstrained"), ids=str)
def test_known_laws_on_all_words(case: dict[str, Any]) -> None:
    n, m, a = case["length"], case["alphabet_size"], exponent(case)
    law = law_on_all_words(n, m, a)
    assert law.mean == pytest.approx(float(case["permute_and_flip_mean"]), abs=1e-12)
    if "permute_and_flip" in case:
        known = np.array(case["permute_and_flip"], dtype=float)
        np.testing.assert_allclose(law.pmf, known, rtol=0, atol=1e-14)
    baseline = law_on_all_words(n, m, a, "exponential")
    assert baseline.mean == pytest.approx(float(case["exponential_mean"]), abs=1e-12)


@given(strategies.languages(max_words=12), exponents, st.data())
@settings(max_examples=30)
def test_definition_4_by_its_subsets(
    found: tuple[Language, list[oracles.Word]], a: Fraction, data: st.DataObject
) -> None:
    language, words = found
    if len(words) > 9:
        words = words[:9]
        language = Language.of(words, alphabet=language.alphabet)
    w = data.draw(strategies.words(language.alphabet, language.length))
    expected = oracles.by_distance(oracles.subset_sum_law(words, w, a), w)
    law = error_law(language, language.encode(w), a)
    np.testing.assert_allclose(law.pmf, [float(p) for p in expected], rtol=0, atol=1e-13)


@given(strategies.languages(max_words=60), exponents, mechanisms, st.data())
@settings(max_examples=40)
def test_laws_by_enumeration(
    found: tuple[Language, list[oracles.Word]], a: Fraction, mechanism: str, data: st.DataObject
) -> None:
    language, words = found
    w = data.draw(strategies.words(language.alphabet, language.length))
    expected = oracles.by_distance(ORACLES[mechanism](words, w, a), w)
    law = error_law(language, language.encode(w), a, mechanism)
    np.testing.assert_allclose(law.pmf, [float(p) for p in expected], rtol=0, atol=1e-13)
    assert law.pmf.sum() == pytest.approx(1, abs=1e-13)
    mean = sum(d * p for d, p in enumerate(expected))
    variance = sum((d - mean) ** 2 * p for d, p in enumerate(expected))
    assert law.mean == pytest.approx(float(mean), abs=1e-12)
    assert law.variance == pytest.approx(float(variance), abs=1e-12)


@given(strategies.languages(max_length=3, max_words=30), exponents, mechanisms, st.data())
@settings(max_examples=30)
def test_laws_under_costs(
    found: tuple[Language, list[oracles.Word]], a: Fraction, mechanism: str, data: st.DataObject
) -> None:
    language, words = found
    if len(language.alphabet) < 2:
        return
    table = data.draw(strategies.costs(list(language.alphabet)))

    def cost(true: Any, written: Any) -> Any:
        return 0 if true == written else table[true, written]

    try:
        costs = Costs(table, language.alphabet)
    except InvalidArgument:  # a table that happens to have no spread
        return
    w = data.draw(strategies.words(language.alphabet, language.length))
    expected = ORACLES[mechanism](words, w, a, cost)
    law = error_law(language, language.encode(w), a, mechanism, costs=costs)
    np.testing.assert_allclose(
        law.pmf, [float(p) for p in oracles.by_distance(expected, w)], rtol=0, atol=1e-13
    )
    totals = {v: sum(map(Fraction, map(cost, w, v))) for v in words}
    mean = sum(float(p) * totals[v] for v, p in expected.items())
    assert law.mean == pytest.approx(float(mean), abs=1e-12)


def test_counts_of_thousands_of_digits() -> None:
    # All words of 3,000 symbols over 50, whose counts have up to 5,000 digits.
    n, m, a = 3000, 50, Fraction(4)
    levels = Language.all_words(range(m), n).level_counts([0] * n)
    assert max(levels).bit_length() > 15_000
    law, closed = permute_and_flip_law(levels, a), law_on_all_words(n, m, a)
    np.testing.assert_allclose(law.pmf, closed.pmf, rtol=0, atol=1e-14)
    assert law.pmf.sum() == pytest.approx(1, abs=1e-13)
    assert 500 < law.mean < 2000


def test_weights_that_underflow() -> None:
    # exp(-5000 l) is 0 in floats from l = 1 on; the nearest words are 7 errors away.
    law = permute_and_flip_law([0] * 7 + [3, 10**400], Fraction(5000))
    assert law.pmf[7] == 1
    assert law.pmf[8] == 0
    assert (law.mean, law.variance) == (7, 0)


def test_vanishing_exponents_make_uniform_words() -> None:
    levels = [1, 4, 6, 4, 1]
    law = permute_and_flip_law(levels, Fraction(1, 10**12))
    np.testing.assert_allclose(law.pmf, np.array(levels) / 16, rtol=0, atol=1e-10)


def test_ten_thousand_symbols_against_the_series() -> None:
    # Independent: F from Z_j = (1 + C_j)^n - 1 in 30 digits, E[d] by quadrature.
    n, m, a = 10_000, 26, Fraction(13, 1)
    with mpmath.workdps(30):
        z = mpmath.exp(-mpmath.mpf(a.numerator) / a.denominator)
        powers = range(1, 40)
        c = {j: (m - 1) * z**j for j in powers}
        total = {j: (1 + c[j]) ** n - 1 for j in powers}
        first = {j: n * c[j] * (1 + c[j]) ** (n - 1) for j in powers}

        def integrand(t: mpmath.mpf) -> mpmath.mpf:
            survival = (1 - t) * mpmath.exp(-mpmath.fsum(total[j] * t**j / j for j in powers))
            return survival * mpmath.fsum(first[j] * t ** (j - 1) for j in powers)

        expected = mpmath.quad(integrand, mpmath.linspace(0, 1, 5))
    assert law_on_all_words(n, m, a).mean == pytest.approx(float(expected), rel=1e-12)


@given(strategies.languages(max_words=100), exponents, st.data())
@settings(max_examples=30)
def test_between_half_of_and_the_whole_exponential_error(
    found: tuple[Language, list[oracles.Word]], a: Fraction, data: st.DataObject
) -> None:
    language, words = found
    w = language.encode(data.draw(st.sampled_from(words)))
    ours = error_law(language, w, a)
    baseline = error_law(language, w, a, "exponential")
    assert baseline.mean / 2 - 1e-13 <= ours.mean <= baseline.mean + 1e-13
    # More: permute-and-flip's distance is smaller in the usual stochastic order.
    assert (np.cumsum(ours.pmf) >= np.cumsum(baseline.pmf) - 1e-13).all()


def test_no_words_and_impossible_counts_are_refused() -> None:
    with pytest.raises(EmptyLanguage, match="at least one word"):
        permute_and_flip_law([0, 0], Fraction(1))
    with pytest.raises(InvalidArgument, match="negative"):
        exponential_law([1, -1], Fraction(1))
    language = Language.all_words("ab", 2)
    with pytest.raises(InvalidArgument, match="permute-and-flip"):
        error_law(language, language.encode("ab"), Fraction(1), "online")


def test_costs_with_too_many_totals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpauto.counting.JOINT_LIMIT", 10)
    language = Language.all_words("abc", 4)
    costs = Costs([[0, 1, 10], [1, 0, 100], [10, 100, 0]], language.alphabet)
    with pytest.raises(StateLimitExceeded, match="mean and variance"):
        error_law(language, language.encode("abca"), Fraction(1), costs=costs)


@given(strategies.languages(), st.data())
@settings(max_examples=40)
def test_counts_in_floats_are_the_exact_counts(
    found: tuple[Language, list[oracles.Word]], data: st.DataObject
) -> None:
    language, words = found
    w = data.draw(strategies.words(language.alphabet, language.length))
    counts = level_counts_in_floats(language, language.encode(w))
    assert counts.tolist() == oracles.level_counts(words, w)
