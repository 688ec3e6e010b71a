"""The nearest words and the edges that leave them, against listed words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from arithmetic import tapes
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import assert_follows

from dpauto.language import Language
from dpauto.models import NFA
from dpauto.passes import NearestWords, Weights, words_themselves
from dpauto.words import Costs


def cost_of(table):
    return None if table is None else (lambda x, y: table.get((x, y), 0))


def nearest_words(words, w, table):
    """All words of the list at the least cost from w."""
    cost = cost_of(table)
    spread = oracles._distances(words, w, cost)
    return min(spread), {v for v, c in zip(words, spread, strict=True) if c == min(spread)}


@settings(max_examples=80)
@given(st.data())
def test_number_and_distance(data):
    language, words = data.draw(strategies.languages())
    alphabet = list(language.alphabet)
    w = data.draw(strategies.words(alphabet, language.length))
    table = None
    if len(alphabet) > 1 and data.draw(st.booleans()):
        table = data.draw(strategies.costs(alphabet))
    costs = None if table is None else Costs(table, language.alphabet)
    weights = Weights(language.automaton, language.rows, Fraction(1), costs)
    found = NearestWords(weights, language.encode(w))
    least, expected = nearest_words(words, w, table)
    units = 1 if costs is None else costs.denominator
    assert Fraction(found.distance, units) == least
    assert found.count == len(expected)
    drawn = {language.decode(found.word(tape)) for tape in tapes(20)}
    assert drawn <= expected
    # Every leaving edge starts where a nearest word may still be continued.
    for k in range(min(5, len(found.leaving.edge))):
        prefix = language.decode(found.prefix(k, next(tapes(1, str(k)))))
        assert len(prefix) == found.leaving.steps[k]
        assert any(v[: len(prefix)] == prefix for v in expected)
    if w in language and weights.distinguishes:
        words = language.encode(w)[np.newaxis]
        (itself,) = words_themselves(weights, words, np.stack(language.runs(words)))
        assert expected == {w}
        assert (itself.count, itself.distance) == (1, 0)
        assert itself.leaving.own == language.run(words[0])[0]
        # One entry may stand for several edges of the start.
        several = int((found.leaving.steps == 0).sum())
        assert len(itself.leaving.edge) + several >= len(found.leaving.edge)


@pytest.mark.parametrize(
    ("language", "w", "table"),
    [
        (Language.of(["aab", "aba", "baa", "bbb", "abb"]), "aaa", None),
        (NFA.from_regex("(a|b)*ab(a|b)*", alphabet="abc").language(4), "cccc", None),
        (
            Language.all_words("abc", 3),
            "aca",
            {(x, y): 0 if {x, y} == {"a", "b"} else 1 for x in "abc" for y in "abc" if x != y},
        ),
    ],
    ids=["listed", "foreign", "free substitutions"],
)
def test_nearest_words_are_drawn_uniformly(language, w, table):
    costs = None if table is None else Costs(table, language.alphabet)
    weights = Weights(language.automaton, language.rows, Fraction(1), costs)
    found = NearestWords(weights, language.encode(w))
    _, expected = nearest_words(list(language.words()), tuple(w), table)
    assert len(expected) > 2
    drawn = [language.decode(found.word(tape)) for tape in tapes(2000)]
    assert_follows(drawn, dict.fromkeys(expected, Fraction(1, len(expected))))


def test_numbers_beyond_all_floats():
    language = NFA.from_regex("(a|b)*", alphabet="abc").language(1500)
    weights = Weights(language.automaton, language.rows, Fraction(1), None)
    found = NearestWords(weights, language.encode("c" * 1500))
    assert found.count == 2**1500
    assert found.distance == 1500
    assert not len(found.leaving.edge)
    assert np.unique(found.word(next(tapes(1)))).tolist() == [0, 1]
