"""The online mechanism's law, against its definition over prefixes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import NFA, Language, StateLimitExceeded
from dpauto.laws import online_law, online_moments, polynomials

rates = st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(4), Fraction(800)])


@given(strategies.languages(), rates, st.data())
@settings(max_examples=60)
def test_law_and_moments_by_definition(
    found: tuple[Language, list[oracles.Word]], rate: Fraction, data: st.DataObject
) -> None:
    language, words = found
    w = data.draw(strategies.words(language.alphabet, language.length))
    expected = oracles.by_distance(oracles.online_law(words, w, rate), w)
    law = online_law(language, language.encode(w), rate)
    np.testing.assert_allclose(law.pmf, [float(p) for p in expected], rtol=0, atol=1e-13)
    moments = online_moments(language, language.encode(w), rate)
    assert moments.mean == pytest.approx(law.mean, abs=1e-12)
    assert moments.variance == pytest.approx(law.variance, abs=1e-12)
    assert moments.unchanged == pytest.approx(law.pmf[0], abs=1e-12)


def test_randomized_response_on_all_words() -> None:
    # Expected error n C / (1 + C) with C = (m - 1) exp(-epsilon / b): the full epsilon, not half.
    law = online_law(Language.all_words("abcd", 50), np.zeros(50, dtype=np.int64), Fraction(2))
    c = 3 * np.exp(-2)
    assert law.mean == pytest.approx(50 * c / (1 + c), rel=1e-13)


def test_ambiguous_automata_are_determinised() -> None:
    language = NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ab").language(5)
    words = [w for w in oracles.all_words("ab", 5) if "aba" in "".join(w)]
    w = tuple("ababb")
    expected = oracles.by_distance(oracles.online_law(words, w, Fraction(1)), w)
    law = online_law(language, language.encode(w), Fraction(1))
    np.testing.assert_allclose(law.pmf, [float(p) for p in expected], rtol=0, atol=1e-14)


def test_tables_beyond_the_budget_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polynomials, "CELL_LIMIT", 5)
    language = Language.of(["abc", "bca"])
    with pytest.raises(StateLimitExceeded, match="mean and variance"):
        online_law(language, language.encode("abc"), Fraction(1))
