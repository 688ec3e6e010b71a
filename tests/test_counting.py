"""Exact counts against listed words: totals, words per distance, words per distance and cost."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import networkx as nx
import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import counting
from dpauto.errors import StateLimitExceeded
from dpauto.language import Language
from dpauto.models import MarkovChain
from dpauto.words import Costs


@given(st.data())
def test_words_per_distance(data):
    language, words = data.draw(strategies.languages())
    w = data.draw(strategies.words(list(language.alphabet), language.length))
    counts = counting.level_counts(language.automaton, language.encode(w), language.rows)
    assert counts == oracles.level_counts(words, w)
    assert counts == language.level_counts(w)


@given(st.data())
def test_paths_per_layer_and_state(data):
    language, words = data.draw(strategies.languages())
    layers = counting.path_counts(language.automaton, language.length, language.rows)
    assert [len(layer) for layer in layers] == [1, *language.rows[1:].tolist()]
    assert layers[0][0] == len(words)
    a = language.automaton
    for i in range(1, language.length):
        for q in range(int(language.rows[i])):
            heads = a.head[a.indptr[q] : a.indptr[q + 1]]
            assert layers[i][q] == sum(int(layers[i + 1][h]) for h in heads)


@settings(max_examples=60)
@given(st.data())
def test_words_per_distance_and_cost(data):
    language, words = data.draw(strategies.languages())
    if len(language.alphabet) == 1:
        return
    table = data.draw(strategies.costs(list(language.alphabet)))
    costs = Costs(table, language.alphabet)
    w = data.draw(strategies.words(list(language.alphabet), language.length))
    cells = counting.joint_level_counts(
        language.automaton, language.encode(w), language.rows, costs.matrix
    )
    expected = Counter(
        (
            oracles.distance(w, v),
            sum(Fraction(table.get(pair, 0)) for pair in zip(w, v, strict=True)),
        )
        for v in words
    )
    assert {(d, Fraction(c, costs.denominator)): k for (d, c), k in cells.items()} == expected


def test_too_many_different_totals_are_refused(monkeypatch):
    monkeypatch.setattr(counting, "JOINT_LIMIT", 20_000)
    language = Language.all_words(range(10), 200)
    matrix = np.arange(100).reshape(10, 10) ** 3
    np.fill_diagonal(matrix, 0)
    with pytest.raises(StateLimitExceeded, match="too many different totals"):
        counting.joint_level_counts(
            language.automaton, np.zeros(200, dtype=np.int64), language.rows, matrix
        )


class TestBeyondInt64:
    """Walks on the complete graph K4 outgrow int64 at length 41, silently elsewhere."""

    def test_walks_on_k4(self):
        graph = nx.complete_graph(4)
        for length in (38, 39, 40, 41, 45, 64):
            language = MarkovChain.from_networkx(graph, initial=0).language(length)
            assert language.count() == 3**length

    def test_levels_on_k4(self):
        language = MarkovChain.from_networkx(nx.complete_graph(4)).language(45)
        w = [k % 4 for k in range(45)]
        counts = language.level_counts(w)
        assert sum(counts) == language.count() == 4 * 3**44
        assert counts[0] == 1
        # One wrong symbol inside has two choices, at an end also two besides the neighbour's own.
        assert counts[1] == sum(
            len({0, 1, 2, 3} - {w[k], *w[max(0, k - 1) : k], *w[k + 1 : k + 2]}) for k in range(45)
        )

    def test_all_words_in_closed_form_and_by_the_automaton(self):
        language = Language.all_words("abcd", 70)
        same = Language.compile(language.automaton, 70)
        w = "abcd" * 17 + "ab"
        assert language.count() == same.count() == 4**70
        assert language.level_counts(w) == same.level_counts(w)
