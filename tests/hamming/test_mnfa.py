"""The MNFA against enumeration: graph, counts, policy and the law of its samples."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any

import networkx as nx
import oracles
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpauto.hamming.product
from dpauto import (
    MNFA,
    NFA,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
    Language,
    MarkovChain,
    SeededBits,
    StateLimitExceeded,
    UnknownSymbol,
    mnfa,
)
from dpauto.arrays import START
from dpauto.examples import sioux_falls

AMBIGUOUS = "(a|b)*aba(a|b)*"


@st.composite
def cases(draw: st.DrawFn) -> tuple[Language, list[Any], tuple[Any, ...], int]:
    """A language, its words, a word that need not be among them, and a distance that occurs."""
    language, words = draw(strategies.languages())
    w = draw(strategies.words(list(language.alphabet), language.length))
    errors = draw(st.sampled_from([d for d, k in enumerate(oracles.level_counts(words, w)) if k]))
    return language, words, w, errors


@given(cases())
def test_words_are_those_at_the_distance_each_once(case: Any) -> None:
    language, words, w, errors = case
    near = mnfa(w, errors, language)
    expected = [v for v in words if oracles.distance(w, v) == errors]
    found = list(near.words())
    assert Counter(map(repr, found)) == Counter(map(repr, expected))
    assert near.count() == len(expected)
    assert [near.word(k) for k in range(near.count())] == found
    assert all(v in near for v in expected)
    assert not any(v in near for v in words if oracles.distance(w, v) != errors)


@given(cases())
def test_graph_is_the_trimmed_product_with_path_counts_and_policy(case: Any) -> None:
    language, _, w, errors = case
    near = mnfa(w, errors, language)
    graph = near.graph
    assert nx.is_frozen(graph)
    assert graph.number_of_nodes() == near.number_of_nodes
    (start,) = (node for node, first in graph.nodes(data="initial") if first)
    ends = {node for node, last in graph.nodes(data="final") if last}
    assert start[:2] == (0, 0)
    assert ends == {node for node in graph if node[0] == language.length}
    assert all(j == errors for _, j, _ in ends)
    # Counted from the graph alone, node by node from the end.
    paths: dict[Any, int] = {}
    for node in reversed(list(nx.topological_sort(graph))):
        heads = [head for _, head in graph.out_edges(node)]
        paths[node] = sum(paths[head] for head in heads) if node not in ends else 1
        assert graph.nodes[node]["paths"] == paths[node] > 0
    assert paths[start] == near.count()
    assert set(graph) == {start} | nx.descendants(graph, start)
    for tail, head, data in graph.edges(data=True):
        assert head[0] == tail[0] + 1
        assert head[1] == tail[1] + (data["symbol"] != w[tail[0]])
        assert data["probability"] == Fraction(paths[head], paths[tail])


@given(cases())
def test_policy_makes_every_word_equally_likely(case: Any) -> None:
    language, _, w, errors = case
    near = mnfa(w, errors, language)
    law: dict[Any, Fraction] = {}
    (start,) = (node for node, first in near.graph.nodes(data="initial") if first)
    ahead = [(start, (), Fraction(1))]
    while ahead:
        node, written, probability = ahead.pop()
        policy = near.policy(node)
        assert sum(policy.values()) == (node[0] < language.length)
        assert policy == {
            (data["symbol"], head): data["probability"]
            for _, head, data in near.graph.out_edges(node, data=True)
        }
        if not policy:
            law[repr(written)] = probability
        for (symbol, head), share in policy.items():
            ahead.append((head, (*written, symbol), probability * share))
    assert set(law.values()) == {Fraction(1, near.count())}
    assert len(law) == near.count()


def test_paths_have_the_closed_form_on_all_words() -> None:
    n, m, errors = 7, 4, 3
    near = mnfa("abcdabc", errors, Language.all_words("abcd", n))
    nodes = dict(near.graph.nodes(data="paths"))
    assert {(i, j): paths for (i, j, _), paths in nodes.items()} == {
        (i, j): comb(n - i, errors - j) * (m - 1) ** (errors - j)
        for i in range(n + 1)
        for j in range(errors + 1)
        if j <= i and errors - j <= n - i
    }
    assert len({state for i, _, state in nodes if i}) == 1


def test_counts_are_the_languages_level_counts_where_they_are_huge() -> None:
    language = MarkovChain.from_networkx(sioux_falls()).language(60)
    w = language.random_word(3)
    counts = language.level_counts(w)
    assert counts[40] > 2**64
    assert mnfa(w, 40, language).count() == counts[40]
    assert mnfa(w, 0, language).word(0) == w


def test_ambiguous_automata_do_not_make_words_twice() -> None:
    nfa = NFA.from_regex(AMBIGUOUS, alphabet="ab")
    assert not nfa.is_unambiguous()
    words = [v for v in oracles.all_words("ab", 7) if "aba" in "".join(v)]
    w = tuple("abababa")
    for errors, count in enumerate(oracles.level_counts(words, w)):
        if count:
            near = mnfa(w, errors, nfa.language(7))
            assert near.count() == count == len(set(near.words()))


def test_start_is_the_public_state_or_start() -> None:
    roads = sioux_falls()
    public = mnfa([3, 4, 5], 1, MarkovChain.from_networkx(roads, initial=1).language(3))
    anywhere = mnfa([3, 4, 5], 1, MarkovChain.from_networkx(roads).language(3))
    assert (0, 0, 1) in public.graph
    assert (0, 0, START) in anywhere.graph
    assert sum(node[0] == 0 for node in anywhere.graph) == 1


@pytest.mark.parametrize("errors", [0, 1, 2, 4])
def test_samples_are_uniform(errors: int) -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=1).language(5)
    near = mnfa([2, 6, 8, 9, 10], errors, language)
    words = list(near.words())
    bits = SeededBits(20 + errors)
    seen = Counter(near.sample(bits) for _ in range(40 * len(words)))
    assert set(seen) <= set(words)
    if len(words) > 1:
        assert chisquare([seen[v] for v in words]).pvalue > 1e-4


def test_same_seed_same_sample() -> None:
    near = mnfa("ab" * 30, 20, Language.all_words("abc", 60))
    assert near.sample(5) == near.sample(5) != near.sample(6)
    assert near.sample() in near


def test_words_longer_than_the_recursion_limit() -> None:
    near = mnfa("ab" * 1500, 1, Language.all_words("ab", 3000))
    assert near.count() == 3000
    assert next(near.words()) in near
    assert near.sample(1) in near


def test_repr_and_errors_do_not_show_the_word() -> None:
    language = Language.all_words(["secret", "other"], 3)
    near = mnfa(["secret"] * 3, 1, language)
    assert repr(near) == "<MNFA: words of length 3 with exactly 1 error>"
    assert near.w == ("secret",) * 3
    with pytest.raises(UnknownSymbol) as caught:
        mnfa(["secret", "hidden", "other"], 1, language)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("errors", [-1, 4, 1.5, "2", None, True])
def test_refuses_errors_out_of_range(errors: Any) -> None:
    with pytest.raises(InvalidArgument, match="errors must be a whole number from 0 to"):
        mnfa("aba", errors, Language.all_words("ab", 3))


def test_refuses_a_distance_that_does_not_occur() -> None:
    with pytest.raises(EmptyLanguage, match="no word of the language is at distance 2"):
        mnfa("abb", 2, Language.of(["abb", "abc"]))


def test_refuses_what_is_no_word_or_no_language() -> None:
    with pytest.raises(InvalidWord, match="length 3, not 2"):
        mnfa("ab", 1, Language.all_words("ab", 3))
    with pytest.raises(InvalidArgument, match="language must be a Language"):
        mnfa("ab", 1, NFA.from_regex("ab"))  # type: ignore[arg-type]


@pytest.mark.parametrize("node", [(0, 0), (0, 1, "any"), (9, 0, "any"), (1, 0, "no"), None, 3])
def test_policy_refuses_what_is_no_node(node: Any) -> None:
    with pytest.raises(InvalidArgument, match="node must be a node of the graph"):
        mnfa("aba", 1, Language.all_words("ab", 3)).policy(node)


@pytest.mark.parametrize("number", [-1, 3, 0.0, "0"])
def test_word_refuses_other_numbers(number: Any) -> None:
    with pytest.raises(InvalidArgument, match="number must be a whole number"):
        mnfa("aba", 1, Language.all_words("ab", 3)).word(number)


def test_graph_has_a_budget_and_the_rest_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpauto.hamming.product, "GRAPH_NODES", 10)
    near = mnfa("ababab", 3, Language.all_words("ab", 6))
    with pytest.raises(StateLimitExceeded, match="16 nodes and a graph of it may have 10"):
        _ = near.graph
    assert near.sample(1) in near


def test_pickles() -> None:
    near = mnfa("abba", 2, Language.all_words("abc", 4))
    again: MNFA = pickle.loads(pickle.dumps(near))
    assert list(again.words()) == list(near.words())
