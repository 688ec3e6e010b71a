"""Automata as arrays: sorted, searched by levels, cut down, and equal to their graphs."""

from __future__ import annotations

import importlib.machinery
import pickle
from collections import deque

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import automata

from dpauto.arrays import START, Automaton, ragged, sort_edges, sparse_tools
from dpauto.words import Alphabet


def edge_set(a: Automaton) -> set[tuple[str, str, str]]:
    """Labelled edges by name, the start's included."""
    first = {
        (a.start, a.states[h], a.alphabet[s])
        for h, s in zip(a.start_head, a.start_label, strict=True)
    }
    rest = zip(a.tail, a.head, a.label, strict=True)
    return first | {(a.states[t], a.states[h], a.alphabet[s]) for t, h, s in rest}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=6))
def test_ragged_is_the_concatenation_of_ranges(ranges):
    starts = np.array([lo for lo, _ in ranges], dtype=np.int64)
    stops = np.array([lo + size for lo, size in ranges], dtype=np.int64)
    expected = [k for lo, size in ranges for k in range(lo, lo + size)]
    assert ragged(starts, stops).tolist() == expected


@pytest.mark.parametrize("found", [True, False], ids=["by file", "by name"])
def test_scipy_multiplies_raw_arrays(found, monkeypatch):
    if not found:
        monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda *_: None)
    tools = sparse_tools.__wrapped__()
    indptr, heads = np.array([0, 2, 3], np.int32), np.array([0, 1, 1], np.int32)
    product = np.zeros(2)
    tools.csr_matvec(2, 2, indptr, heads, np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0]), product)
    matrix = csr_array((np.array([1.0, 2.0, 4.0]), heads, indptr), shape=(2, 2))
    assert product.tolist() == (matrix @ [3.0, 5.0]).tolist()


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=30))
def test_edges_are_sorted_and_distinct(edges):
    tail, head, label = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    indptr, heads, labels = sort_edges(tail, head, label, 5)
    tails = np.repeat(np.arange(5), np.diff(indptr))
    found = list(zip(tails.tolist(), labels.tolist(), heads.tolist(), strict=True))
    assert found == sorted({(t, s, h) for t, h, s in edges})


class TestAutomaton:
    @given(automata())
    def test_the_graph_has_the_same_edges_and_marks(self, a):
        graph = a.graph
        assert {(t, h, s) for t, h, s in graph.edges(data="symbol")} == edge_set(a)
        assert graph.number_of_edges() == len(edge_set(a))
        assert [q for q, mark in graph.nodes(data="initial") if mark] == [a.start]
        final = {q for q, mark in graph.nodes(data="final") if mark}
        assert final == {a.states[k] for k in np.flatnonzero(a.final)}
        assert nx.is_frozen(graph)

    @given(automata())
    def test_indices_by_label_and_by_head(self, a):
        pointer, edges = a.by_label
        for s in range(len(a.alphabet)):
            assert set(edges[pointer[s] : pointer[s + 1]]) == set(np.flatnonzero(a.label == s))
        pointer, edges = a.by_head
        for q in range(a.n_states):
            assert set(edges[pointer[q] : pointer[q + 1]]) == set(np.flatnonzero(a.head == q))
        assert edges.tolist() == a.in_edges(np.arange(a.n_states)).tolist()
        assert np.arange(a.n_edges).tolist() == a.out_edges(np.arange(a.n_states)).tolist()

    @given(automata())
    def test_determinism_is_one_edge_per_symbol(self, a):
        pairs = [(t, s) for t, _, s in edge_set(a)]
        assert a.is_deterministic == (len(pairs) == len(set(pairs)))

    @given(automata())
    def test_the_label_into_a_state(self, a):
        into = {q: {s for _, h, s in edge_set(a) if h == q} for q in a.states}
        labels = a.state_label
        if any(len(symbols) > 1 for symbols in into.values()):
            assert labels is None
        else:
            named = [None if k < 0 else a.alphabet[k] for k in labels.tolist()]
            assert named == [next(iter(into[q]), None) for q in a.states]

    @given(automata(), st.integers(0, 7))
    def test_forward_levels_are_first_arrivals(self, a, steps):
        distance = nx.single_source_shortest_path_length(a.graph, a.start, cutoff=steps)
        order, level = a.forward_levels(steps)
        assert level.tolist() == [distance.get(q, 0) for q in a.states]
        assert sorted(order.tolist()) == np.flatnonzero(level).tolist()
        assert (np.diff(level[order]) >= 0).all()

    @given(automata(), st.integers(0, 7))
    def test_backward_levels_are_least_steps(self, a, steps):
        targets = np.flatnonzero(a.final)
        found = {int(q): 0 for q in targets}
        queue = deque(found)
        while queue:
            q = queue.popleft()
            for tail in a.tail[a.head == q].tolist():
                if tail not in found:
                    found[tail] = found[q] + 1
                    queue.append(tail)
        expected = [found.get(q, steps + 1) for q in range(a.n_states)]
        levels = a.backward_levels(targets, steps).tolist()
        assert levels == [d if d <= steps else -1 for d in expected]

    @given(automata(), st.data())
    def test_a_restriction_keeps_what_lies_inside(self, a, data):
        order = data.draw(st.permutations(range(a.n_states)))
        order = order[: data.draw(st.integers(1, a.n_states))]
        part = a.restricted(np.array(order))
        inside = {a.states[q] for q in order}
        assert list(part.states) == [a.states[q] for q in order]
        kept = {(t, h, s) for t, h, s in edge_set(a) if h in inside and t in {START, *inside}}
        assert edge_set(part) == kept
        assert part.final.tolist() == a.final[order].tolist()

    @given(automata())
    def test_numbering_does_not_depend_on_names(self, a):
        twin = Automaton(
            a.alphabet,
            range(a.n_states),
            a.start,
            a.start_head,
            a.start_label,
            a.indptr,
            a.head,
            a.label,
            a.final,
        )
        assert twin.forward_levels(9)[0].tolist() == a.forward_levels(9)[0].tolist()

    @given(automata())
    def test_it_pickles(self, a):
        twin = pickle.loads(pickle.dumps(a))
        assert edge_set(twin) == edge_set(a)
        assert twin.start is START

    def test_its_arrays_cannot_be_changed(self):
        a = Automaton.of(
            alphabet=Alphabet("a"),
            states=["q"],
            start="q",
            start_edges=(np.zeros(1, int), np.zeros(1, int)),
            edges=(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int)),
            final=np.ones(1, dtype=bool),
        )
        for name in ("start_head", "start_label", "indptr", "head", "label", "final"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(a, name)[0] = 0

    def test_a_public_start_that_is_a_state_is_one_node(self):
        a = Automaton.of(
            alphabet=Alphabet("ab"),
            states=["x", "y"],
            start="x",
            start_edges=(np.array([0, 1]), np.array([0, 1])),
            edges=(np.array([0, 0]), np.array([0, 1]), np.array([0, 1])),
            final=np.array([False, True]),
        )
        assert sorted(a.graph.edges(data="symbol")) == [("x", "x", "a"), ("x", "y", "b")]
        assert a.graph.nodes["x"] == {"initial": True, "final": False}


@given(automata(), st.data())
def test_a_layer_has_the_edges_of_the_states_that_matter(a, data):
    count = data.draw(st.integers(0, a.n_states))
    rows = np.array([0, count])
    first, later = a.layer(0, rows), a.layer(1, rows)
    assert list(zip(first.head, first.label, strict=True)) == list(
        zip(a.start_head, a.start_label, strict=True)
    )
    assert (first.n_tails, later.n_tails) == (1, count)
    edges = zip(a.tail.tolist(), a.head.tolist(), a.label.tolist(), strict=True)
    expected = [edge for edge in edges if edge[0] < count]
    found = zip(later.tail.tolist(), later.head.tolist(), later.label.tolist(), strict=True)
    assert list(found) == expected
    for state in range(a.n_states):
        heads, labels = a.moves(state)
        assert [(state, *move) for move in zip(heads.tolist(), labels.tolist(), strict=True)] == [
            edge for edge in zip(a.tail, a.head, a.label, strict=True) if edge[0] == state
        ]
