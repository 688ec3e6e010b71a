"""Markov chains: construction, feasibility, probabilities, sampling, fitting, and their words."""

from __future__ import annotations

import math
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chain_parts, chains, words

from dpauto import (
    EmptyLanguage,
    InvalidArgument,
    InvalidModel,
    InvalidWord,
    KeyedBits,
    MarkovChain,
    PrivacyWarning,
    SeededBits,
    StateLimitExceeded,
    SystemBits,
    UnknownSymbol,
)

Parts = dict[str, Any]

WEATHER = {
    "sun": {"sun": 0.8, "rain": 0.2},
    "rain": {"sun": 0.4, "rain": 0.4, "snow": 0.2},
    "snow": {"rain": 1},
}


def weather(initial: str | None = None) -> MarkovChain:
    return MarkovChain(states=list(WEATHER), transitions=WEATHER, initial=initial)


def feasible_words(parts: Parts, length: int) -> list[tuple[Hashable, ...]]:
    successors = {s: list(parts["transitions"].get(s, ())) for s in parts["states"]}
    return oracles.graph_words(successors, length, parts["initial"])


# -- words ------------------------------------------------------------------------------------


@given(chain_parts(max_states=4), st.integers(1, 4))
def test_the_language_is_the_set_of_walks(parts: Parts, length: int) -> None:
    chain = MarkovChain(**parts)
    expected = feasible_words(parts, length)
    if expected:
        language = chain.language(length)
        assert set(language.words()) == set(expected)
        assert language.count() == len(expected)
        assert language.alphabet == chain.alphabet
    else:
        with pytest.raises(EmptyLanguage):
            chain.language(length)


@given(chain_parts(max_states=4), st.data())
def test_feasibility_and_probability_follow_the_definition(
    parts: Parts, data: st.DataObject
) -> None:
    chain = MarkovChain(**parts)
    word = data.draw(words(parts["states"], max_length=4))
    assert chain.feasible(word) == (word in feasible_words(parts, len(word)))
    start = parts["initial"]
    expected = 1.0 if start is not None else 1 / len(parts["states"])
    steps = pairwise(word if start is None else (start, *word))
    for tail, head in steps:
        expected *= parts["transitions"].get(tail, {}).get(head, 0)
    assert chain.probability(word) == pytest.approx(expected, rel=1e-12)
    assert math.exp(chain.log_probability(word)) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=50)
@given(chains(max_states=4, dead_ends=False), st.integers(1, 3))
def test_probabilities_of_the_words_of_a_length_sum_to_one(chain: MarkovChain, n: int) -> None:
    total = math.fsum(chain.probability(w) for w in chain.language(n).words())
    assert total == pytest.approx(1, abs=1e-12)


def test_a_public_start_is_not_part_of_the_word() -> None:
    assert weather("snow").feasible(["rain"])
    assert not weather("snow").feasible(["snow", "rain"])
    assert weather().feasible(["snow", "rain"])
    assert weather("snow").language(1).count() == 1
    assert weather().language(1).count() == 3


def test_unknown_states_are_not_feasible() -> None:
    chain = MarkovChain.from_matrix([[0.5, 0.5], [1, 0]])
    assert chain.feasible([0, 1, 0])
    assert not chain.feasible(["0", "1"])
    assert chain.probability([0, 2]) == 0.0
    assert chain.log_probability([0, 2]) == -math.inf
    assert not chain.feasible([0, []])


def test_the_empty_word_is_certain() -> None:
    assert weather().feasible([])
    assert weather("sun").probability([]) == 1.0


def test_walk_counts_do_not_overflow() -> None:
    # networkx's number_of_walks wraps around here.
    chain = MarkovChain.from_networkx(nx.complete_graph(4))
    assert chain.language(46).count() == 4 * 3**45


def test_dead_ends_end_words() -> None:
    chain = MarkovChain(states="abc", transitions={"a": {"b": 1}, "b": {"c": 1}}, initial="a")
    assert set(chain.language(2).words()) == {("b", "c")}
    for length in (3, 100):
        with pytest.raises(EmptyLanguage, match=f"no word of length {length} is feasible"):
            chain.language(length)


@pytest.mark.parametrize("length", [0, -1, 2.0, True, None])
def test_a_length_is_a_whole_number_of_at_least_one(length: int) -> None:
    with pytest.raises(InvalidArgument, match="length must be a whole number of at least 1"):
        weather().language(length)
    with pytest.raises(InvalidArgument, match="length must be a whole number of at least 1"):
        weather().sample(length, 1)


# -- construction -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": []}, "states must hold at least one state"),
        ({"states": ["a", "a"]}, "states: state 'a' occurs twice"),
        ({"initial": "z"}, "initial: 'z' is not a known state"),
        ({"initial": {"a": 1}}, "initial: .* is not a known state"),
        ({"transitions": 1}, r"transitions must be a mapping \{state: \{state: probability\}\}"),
        ({"transitions": {"z": {}}}, "transitions: 'z' is not a known state"),
        ({"transitions": {"a": "b"}}, r"transitions\['a'\] must be a mapping \{state: prob"),
        ({"transitions": {"a": {"z": 1}}}, r"transitions\['a'\]: 'z' is not a known state"),
        (
            {"transitions": {"a": {"a": 1.5, "b": -0.5}}},
            r"transitions\['a'\]\['b'\] must be a probability from 0 to 1, not -0\.5",
        ),
        ({"transitions": {"a": {"b": math.nan}}}, r"transitions\['a'\]\['b'\] must .* not nan"),
        ({"transitions": {"a": {"b": math.inf}}}, r"transitions\['a'\]\['b'\] must .* not inf"),
        ({"transitions": {"a": {"b": "1"}}}, r"transitions\['a'\]\['b'\] must .* not '1'"),
        ({"transitions": {"a": {"b": True}}}, r"transitions\['a'\]\['b'\] must .* not True"),
        ({"transitions": {"a": {"b": [1]}}}, r"transitions\['a'\]\['b'\] must .* not \[1\]"),
        (
            {"transitions": {"a": {"a": 1}, "b": {"a": 0.5, "b": 0.25}}},
            r"from state 'b' \(row 1, counted from 0\) sum to 0\.75, not to 1 within 1e-09",
        ),
        ({"transitions": {"a": {"a": 1, "b": 1e-8}}}, r"from state 'a' .* sum to 1\.00000001,"),
    ],
)
def test_what_does_not_fit_is_named(change: Parts, message: str) -> None:
    good = {"states": ["a", "b"], "transitions": {"a": {"b": 1}}, "initial": None}
    with pytest.raises(InvalidModel, match=message):
        MarkovChain(**{**good, **change})


def test_rows_may_miss_one_by_rounding_only() -> None:
    MarkovChain(states="a", transitions={"a": {"a": 1 - 0.9e-9}})
    with pytest.raises(InvalidModel):
        MarkovChain(states="a", transitions={"a": {"a": 1 - 1.1e-9}})


def test_probabilities_may_be_any_real_numbers() -> None:
    chain = MarkovChain(
        states=[0, 1, 2],
        transitions={0: {0: Fraction(1, 3), 1: np.float32(0.5), 2: Fraction(1, 6)}, 1: {2: 1}},
    )
    assert chain.probability([0, 2]) == pytest.approx(1 / 18)


def test_zero_is_no_transition() -> None:
    chain = MarkovChain(states="ab", transitions={"a": {"a": 0.0, "b": 1.0}, "b": {"b": 0}})
    assert chain.transitions == {"a": {"b": 1.0}}
    assert not chain.feasible("aa")
    assert chain.graph.number_of_edges() == 1
    matrix = sp.csr_matrix(([0.0, 1.0], ([0, 0], [0, 1])), shape=(2, 2))
    assert MarkovChain.from_matrix(matrix).transitions == {0: {1: 1.0}}


@settings(max_examples=50)
@given(chain_parts())
def test_every_constructor_builds_the_same_chain(parts: Parts) -> None:
    chain = MarkovChain(**parts)
    states, initial = parts["states"], parts["initial"]
    dense = np.zeros((len(states), len(states)))
    for tail, row in parts["transitions"].items():
        for head, probability in row.items():
            dense[states.index(tail), states.index(head)] = probability
    assert MarkovChain.from_matrix(dense, states=states, initial=initial) == chain
    for form in (sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix):
        assert MarkovChain.from_matrix(form(dense), states=states, initial=initial) == chain
    assert np.array_equal(chain.to_matrix().toarray(), dense)
    graph = chain.graph
    assert isinstance(graph, nx.DiGraph)
    assert not graph.is_multigraph()
    assert MarkovChain.from_networkx(graph, initial=initial, probability="probability") == chain
    starts = {s for s, may in graph.nodes(data="initial") if may}
    assert starts == (set(states) if initial is None else {initial})
    again = MarkovChain(states=chain.states, transitions=chain.transitions, initial=chain.initial)
    assert again == chain
    assert hash(again) == hash(chain)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5]], r"matrix must be square, .* not of shape \(1, 2\)"),
        ([1.0], r"matrix must be square, .* not of shape \(1,\)"),
        ([[1.0], [1.0, 2.0]], "matrix must be square"),
        (np.zeros((0, 0)), "matrix must be square"),
        ([["1"]], "matrix must hold real numbers, not <U1"),
        (np.array([[1j]]), "matrix must hold real numbers, not complex128"),
        ([[0.5, 0.4], [0, 1]], "matrix: the probabilities from state 0 sum to 0.9, not to 1"),
        ([[0, 1], [1.5, -0.5]], r"matrix: the probability from state 1 to state 1 .* not -0\.5"),
        ([[0, math.nan], [0, 1]], "matrix: the probability from state 0 to state 1 .* not nan"),
        ([[0, 1], [math.inf, 0]], "matrix: the probability from state 1 to state 0 .* not inf"),
    ],
)
def test_a_matrix_that_is_none_of_probabilities(matrix: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        MarkovChain.from_matrix(matrix)
    square = isinstance(matrix, list) and len({len(r) for r in matrix if isinstance(r, list)}) == 1
    if square and not isinstance(matrix[0][0], str):
        with pytest.raises(InvalidModel, match=message):
            MarkovChain.from_matrix(sp.csr_matrix(np.array(matrix)))


def test_sparse_entries_of_one_pair_add_up_and_the_input_stays() -> None:
    matrix = sp.coo_matrix(([0.25, 0.75, 0.25, 0.5, 0.25], ([0, 1, 0, 0, 1], [0, 0, 0, 1, 1])))
    before = matrix.data.copy()
    chain = MarkovChain.from_matrix(matrix)
    assert chain.transitions == {0: {0: 0.5, 1: 0.5}, 1: {0: 0.75, 1: 0.25}}
    assert np.array_equal(matrix.data, before)
    csr = sp.csr_matrix(np.eye(3))
    MarkovChain.from_matrix(csr)
    csr.data[0] = 2.0  # the chain froze its own arrays, not the caller's
    dense = np.eye(2)
    MarkovChain.from_matrix(dense)
    dense[0, 0] = 2.0


def test_states_of_a_matrix_must_be_as_many_as_its_rows() -> None:
    with pytest.raises(InvalidModel, match="states must name the 2 rows of the matrix, but there"):
        MarkovChain.from_matrix(np.eye(2), states="abc")
    chain = MarkovChain.from_matrix(np.eye(2), states=np.array(["x", "y"]))
    assert chain.states == ("x", "y")
    assert type(chain.states[0]) is str


def test_uniform_steps_over_the_neighbours_of_a_graph() -> None:
    undirected = nx.Graph([("a", "b"), ("b", "c"), ("c", "c")])
    chain = MarkovChain.from_networkx(undirected)
    assert chain.transitions == {
        "a": {"b": 1.0},
        "b": {"a": 0.5, "c": 0.5},
        "c": {"b": 0.5, "c": 0.5},
    }
    directed = MarkovChain.from_networkx(nx.DiGraph([("a", "b"), ("b", "c")]))
    assert directed.transitions == {"a": {"b": 1.0}, "b": {"c": 1.0}}


def test_parallel_edges_are_one_step() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge(0, 1, p=0.25)
    graph.add_edge(0, 1, p=0.5)
    graph.add_edge(0, 2, p=0.25)
    assert MarkovChain.from_networkx(graph).transitions == {0: {1: 0.5, 2: 0.5}}
    weighted = MarkovChain.from_networkx(graph, probability="p")
    assert weighted.transitions == {0: {1: 0.75, 2: 0.25}}
    assert weighted.language(1).count() == 3
    both_ways = MarkovChain.from_networkx(nx.MultiGraph([("a", "b"), ("a", "b")]))
    assert both_ways.transitions == {"a": {"b": 1.0}, "b": {"a": 1.0}}
    assert both_ways.language(5).count() == 2


def test_graph_attributes_that_are_no_probabilities() -> None:
    graph = nx.DiGraph([("a", "b")])
    with pytest.raises(InvalidModel, match="edge from 'a' to 'b' has no attribute 'p'; leave out"):
        MarkovChain.from_networkx(graph, probability="p")
    for value in ("1.0", True, [1]):
        graph.edges["a", "b"]["p"] = value
        with pytest.raises(InvalidModel, match="edge from 'a' to 'b': its 'p' must be a number"):
            MarkovChain.from_networkx(graph, probability="p")
    graph.edges["a", "b"]["p"] = 2
    with pytest.raises(InvalidModel, match=r"graph: the probabilities from state 'a' .* sum to 2"):
        MarkovChain.from_networkx(graph, probability="p")
    with pytest.raises(InvalidModel, match="graph must hold at least one node"):
        MarkovChain.from_networkx(nx.Graph())


def test_a_million_states_need_no_graph() -> None:
    side = 1000
    cells = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel()])
    head = np.concatenate([cells[1:].ravel(), cells[:, 1:].ravel()])
    both = (np.concatenate([tail, head]), np.concatenate([head, tail]))
    links = sp.csr_matrix((np.ones(len(both[0])), both), shape=(side**2, side**2))
    matrix = sp.diags(1 / links.sum(axis=1).A1) @ links
    tracemalloc.start()
    began = time.perf_counter()
    chain = MarkovChain.from_matrix(matrix, initial=side * side // 2 + side // 2)
    language = chain.language(100)
    seconds = time.perf_counter() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "graph" not in vars(chain)
    assert repr(chain) == "<MarkovChain: 1000000 states, 3996000 transitions, initial 500500>"
    assert chain._repr_mimebundle_() == {"text/plain": repr(chain)}
    assert chain.states == range(side * side)
    assert language.automaton.n_states < 25_000
    assert chain.sample(100, 1) in language
    assert seconds < 30
    assert peak < 2**30


# -- sampling ---------------------------------------------------------------------------------


def test_samples_follow_the_probabilities() -> None:
    chain, draws = weather("rain"), 10_000
    rng = np.random.default_rng(5)
    seen = Counter(chain.sample(3, rng) for _ in range(draws))
    for word in chain.language(3).words():
        p = chain.probability(word)
        assert abs(seen[word] - draws * p) < 5 * math.sqrt(draws * p)
    assert sum(seen.values()) == draws
    assert set(seen) <= set(chain.language(3).words())


def test_samples_avoid_dead_ends_by_conditioning() -> None:
    # From a, two of three steps end at once; b survives one more step half of the time.
    chain = MarkovChain(
        states="abx",
        transitions={"a": {"x": 0.5, "b": 0.25, "a": 0.25}, "b": {"x": 0.5, "a": 0.5}},
    )
    feasible = list(chain.language(3).words())
    total = math.fsum(map(chain.probability, feasible))
    rng, draws = np.random.default_rng(7), 5_000
    seen = Counter(chain.sample(3, rng) for _ in range(draws))
    assert set(seen) == set(feasible)
    for word in feasible:
        p = chain.probability(word) / total
        assert abs(seen[word] - draws * p) < 5 * math.sqrt(draws * p)


@settings(max_examples=50)
@given(chains(max_states=4), st.integers(1, 5), st.integers(0, 3))
def test_samples_are_feasible_or_impossible(chain: MarkovChain, n: int, seed: int) -> None:
    try:
        language = chain.language(n)
    except EmptyLanguage:
        with pytest.raises(EmptyLanguage, match=f"every walk of {n} steps meets a dead end"):
            chain.sample(n, seed)
    else:
        assert chain.sample(n, seed) in language
        assert chain.sample(n, seed) == chain.sample(n, np.random.default_rng(seed))


def test_survival_beyond_the_range_of_floats() -> None:
    # Surviving 3000 steps has probability 2**-3000; the walk is conditioned on it all the same.
    chain = MarkovChain(states="ax", transitions={"a": {"a": 0.5, "x": 0.5}}, initial="a")
    assert set(chain.sample(3000, 1)[:-1]) == {"a"}


def test_samples_without_a_seed_differ() -> None:
    chain = MarkovChain.from_matrix(np.full((10, 10), 0.1))
    assert chain.sample(50) != chain.sample(50)
    assert chain.sample(50, rng=None) != chain.sample(50, None)


@pytest.mark.parametrize("rng", ["seed", 1.5, True, np.random.RandomState(1)])
def test_what_is_no_source_is_refused(rng: Any) -> None:
    with pytest.raises(InvalidArgument, match="rng must be None, an int seed, a numpy Generator"):
        weather().sample(3, rng)


def test_numpy_takes_no_negative_seed() -> None:
    with pytest.raises(InvalidArgument, match="a seed must be at least 0"):
        weather().sample(3, -1)


def test_samples_are_drawn_from_any_bit_source() -> None:
    chain, draws = weather("rain"), 10_000
    bits = SeededBits(3)
    seen = Counter(chain.sample(2, bits) for _ in range(draws))
    for word in chain.language(2).words():
        p = chain.probability(word)
        assert abs(seen[word] - draws * p) < 5 * math.sqrt(draws * p)
    assert chain.sample(9, SystemBits()) in chain.language(9)
    with pytest.raises(InvalidArgument, match="record must be given"):
        chain.sample(9, KeyedBits(b"k" * 16))


def test_conditioning_has_a_memory_limit() -> None:
    matrix = sp.lil_matrix((20_000, 20_000))
    matrix[0, 1] = 1.0
    chain = MarkovChain.from_matrix(matrix)
    with pytest.raises(StateLimitExceeded, match="more than 100000000 cells: shorten the walk"):
        chain.sample(10_000, 1)


# -- fitting ----------------------------------------------------------------------------------

PUBLIC = ["aab", "abb", "b"]


def test_fitting_counts_steps() -> None:
    with pytest.warns(PrivacyWarning):
        chain = MarkovChain.fit(PUBLIC)
    assert chain.states == ("a", "b")
    assert chain.initial is None
    assert chain.transitions == {"a": {"a": 1 / 3, "b": 2 / 3}, "b": {"b": 1.0}}


def test_the_public_start_is_counted_as_a_step() -> None:
    with pytest.warns(PrivacyWarning):
        chain = MarkovChain.fit(PUBLIC, initial="start")
    assert chain.states == ("a", "b", "start")
    assert chain.initial == "start"
    assert chain.transitions["start"] == {"a": 2 / 3, "b": 1 / 3}


def test_smoothing_makes_every_step_possible() -> None:
    with pytest.warns(PrivacyWarning):
        chain = MarkovChain.fit(PUBLIC, smoothing=0.5)
    assert chain.transitions["a"]["a"] == pytest.approx(1.5 / 4)
    assert chain.transitions["b"] == pytest.approx({"a": 0.5 / 2, "b": 1.5 / 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        public = MarkovChain.fit(PUBLIC, states="abc", smoothing=1)
    assert public.transitions["c"] == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert public.language(4).count() == 3**4


def test_fitting_says_that_the_support_leaks() -> None:
    with pytest.warns(PrivacyWarning, match="leaks which steps occur; fit on public words") as seen:
        MarkovChain.fit(PUBLIC)
    assert seen[0].filename == __file__
    with pytest.warns(PrivacyWarning):
        MarkovChain.fit(PUBLIC, states="ab")
    with pytest.warns(PrivacyWarning):
        MarkovChain.fit(PUBLIC, smoothing=1)


def test_fitted_states_do_not_depend_on_the_order_of_the_words() -> None:
    with pytest.warns(PrivacyWarning):
        first, second = MarkovChain.fit(PUBLIC), MarkovChain.fit(PUBLIC[::-1])
    assert first == second


def test_fitting_reads_arrays_as_plain_values() -> None:
    with pytest.warns(PrivacyWarning):
        chain = MarkovChain.fit(np.array([[0, 1], [1, 0]]))
    assert list(chain.states) == [0, 1]
    assert type(chain.states[0]) is int


@settings(max_examples=50)
@given(chain_parts(max_states=3), st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_what_was_fitted_is_feasible(parts: Parts, lengths: list[int]) -> None:
    chain = MarkovChain(**parts)
    sample = []
    for seed, length in enumerate(lengths):
        try:
            sample.append(chain.sample(length, seed))
        except EmptyLanguage:
            continue
    if sample:
        with pytest.warns(PrivacyWarning):
            fitted = MarkovChain.fit(sample, initial=parts["initial"])
        assert all(fitted.feasible(w) for w in sample)


@pytest.mark.filterwarnings("ignore::dpauto.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("words", "options", "error", "message"),
    [
        ([], {}, InvalidArgument, "words must hold at least one word with at least one symbol"),
        ([[]], {}, InvalidArgument, "words must hold at least one word with at least one symbol"),
        ("SECRET", {}, InvalidArgument, "words must be a list of words, not one string"),
        ([["SECRET"], 5], {}, InvalidWord, "words: word 2 must be a sequence of symbols"),
        ([["a", ["SECRET"]]], {}, InvalidWord, "symbol at position 2 of word 1 is not hashable"),
        ([["SECRET", None]], {}, InvalidWord, "symbol at position 2 of word 1 is None"),
        (
            [["a"], ["a", "SECRET"]],
            {"states": "ab"},
            UnknownSymbol,
            "words: the symbol at position 2 of word 2 is not one of states",
        ),
        ([["SECRET"]], {"smoothing": -1}, InvalidArgument, "smoothing must be a number of at l"),
        ([["SECRET"]], {"smoothing": math.nan}, InvalidArgument, "smoothing must be a number"),
        ([["SECRET"]], {"smoothing": math.inf}, InvalidArgument, "smoothing must be a number"),
        ([["SECRET"]], {"smoothing": "1"}, InvalidArgument, "smoothing must be a number of at"),
        (
            [["a"]],
            {"states": "ab", "initial": "c"},
            InvalidArgument,
            "initial must be one of states",
        ),
        (
            [range(6000)],
            {"smoothing": 1},
            StateLimitExceeded,
            "too many for 6000 states: leave it out, or name at most 5000 states",
        ),
    ],
)
def test_fitting_names_places_and_no_symbols(
    words: Any, options: Parts, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        MarkovChain.fit(words, **options)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
