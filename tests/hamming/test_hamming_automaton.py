"""The Hamming automaton against the definition of distance."""

from __future__ import annotations

from math import comb
from typing import Any

import oracles
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from dpauto import InvalidArgument, InvalidWord, UnknownSymbol, hamming_automaton


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Any], tuple[Any, ...], int]:
    alphabet = draw(strategies.alphabets(max_size=4))
    w = draw(strategies.words(alphabet, max_length=5))
    return alphabet, w, draw(st.integers(0, len(w)))


@given(cases())
def test_accepts_exactly_the_words_at_that_distance(case: tuple[Any, Any, int]) -> None:
    alphabet, w, errors = case
    nfa = hamming_automaton(w, alphabet, errors)
    for v in oracles.all_words(alphabet, len(w)):
        assert nfa.accepts(v) == (oracles.distance(w, v) == errors)


def test_states_and_edges_are_those_of_the_definition() -> None:
    w, alphabet, n, errors = "abba", "abc", 4, 2
    nfa = hamming_automaton(w, alphabet, errors)
    assert nfa.initial == (0, 0)
    assert nfa.final == {(n, errors)}
    # Reached from (0, 0) by at most one error a step, and able to make the rest.
    assert set(nfa.states) == {
        (i, j) for i in range(n + 1) for j in range(errors + 1) if j <= i and errors - j <= n - i
    }
    for (i, j), head, symbol in nfa.graph.edges(data="symbol"):
        assert head == (i + 1, j + (symbol != w[i]))
    assert nfa.is_unambiguous()


def test_language_has_the_closed_count() -> None:
    for errors in range(7):
        words = hamming_automaton("abcabc", "abcd", errors).language(6)
        assert words.count() == comb(6, errors) * 3**errors


def test_one_symbol_cannot_be_wrong() -> None:
    assert hamming_automaton("aaa", "a", 0).accepts("aaa")
    assert not hamming_automaton("aaa", "a", 1).accepts("aaa")


@pytest.mark.parametrize("errors", [-1, 5, 1.0, "1", None, True])
def test_refuses_errors_out_of_range(errors: Any) -> None:
    with pytest.raises(InvalidArgument, match="errors must be a whole number from 0 to"):
        hamming_automaton("abba", "ab", errors)


def test_refuses_an_empty_or_foreign_word_without_showing_it() -> None:
    with pytest.raises(InvalidWord, match="at least one symbol"):
        hamming_automaton("", "ab", 0)
    with pytest.raises(UnknownSymbol, match="position 2") as caught:
        hamming_automaton(["a", "secret"], "ab", 0)
    assert "secret" not in str(caught.value)
