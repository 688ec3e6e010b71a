"""NFAs to and from networkx and automata-lib, and from regular expressions."""

from __future__ import annotations

import re
from itertools import product

import networkx as nx
import pytest
from automata.fa.dfa import DFA
from automata.fa.gnfa import GNFA
from automata.fa.nfa import NFA as AutomataNFA  # noqa: N811
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import nfa_parts

from dpauto import NFA, InvalidArgument, InvalidModel

ALL_WORDS = ["".join(w) for n in range(5) for w in product("ab", repeat=n)]


def accepted(fa: NFA | DFA | AutomataNFA) -> set[str]:
    accepts = fa.accepts if isinstance(fa, NFA) else fa.accepts_input
    return {w for w in ALL_WORDS if accepts(w)}


# -- networkx ---------------------------------------------------------------------------------


@settings(max_examples=50)
@given(nfa_parts())
def test_a_graph_comes_back_as_the_same_automaton(parts: dict[str, object]) -> None:
    nfa = NFA(**parts)
    graph = nfa.graph
    assert isinstance(graph, nx.MultiDiGraph)
    assert list(graph.nodes) == list(nfa.states)
    assert {q for q, initial in graph.nodes(data="initial") if initial} == {nfa.initial}
    assert {q for q, final in graph.nodes(data="final") if final} == nfa.final
    again = NFA.from_networkx(graph, initial=nfa.initial, final=nfa.final, alphabet=nfa.alphabet)
    assert again == nfa


def test_parallel_edges_of_one_symbol_are_one_transition() -> None:
    graph = nx.MultiDiGraph()
    for symbol in ("x", "x", "y"):
        graph.add_edge("p", "q", symbol=symbol)
    nfa = NFA.from_networkx(graph, initial="p", final=["q"])
    assert nfa.transitions == {"p": {"x": {"q"}, "y": {"q"}}}
    assert nfa.language(1).count() == 2
    assert nfa.graph.number_of_edges() == 2


def test_another_attribute_may_hold_the_symbol() -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, label=(1, 2))
    graph.add_edge(1, 1, label=0)
    nfa = NFA.from_networkx(graph, initial=0, final=[1], symbol="label")
    assert list(nfa.alphabet) == [(1, 2), 0]
    assert nfa.accepts([(1, 2), 0, 0])


def test_graphs_without_symbols_or_direction_are_refused() -> None:
    graph = nx.DiGraph([("p", "q")])
    with pytest.raises(InvalidModel, match="edge from 'p' to 'q' has no attribute 'symbol'; name"):
        NFA.from_networkx(graph, initial="p", final=["q"])
    with pytest.raises(InvalidModel, match="graph must be directed; "):
        NFA.from_networkx(nx.path_graph(3), initial=0, final=[2])
    graph.edges["p", "q"]["symbol"] = ["a", "b"]
    with pytest.raises(InvalidModel, match="symbol of the edge from 'p' to 'q' is not hashable"):
        NFA.from_networkx(graph, initial="p", final=["q"])
    with pytest.raises(InvalidModel, match="alphabet must hold at least one symbol"):
        NFA.from_networkx(nx.empty_graph(1, nx.DiGraph), initial=0, final=[0])


# -- automata-lib -----------------------------------------------------------------------------


@st.composite
def automata_nfas(draw: st.DrawFn) -> AutomataNFA:
    """Automata of automata-lib with empty moves."""
    states = range(draw(st.integers(1, 5)))
    move = st.tuples(st.sampled_from(states), st.sampled_from(["", "a", "b"]))
    moves = draw(st.lists(st.tuples(move, st.sampled_from(states)), max_size=12))
    transitions: dict[int, dict[str, set[int]]] = {q: {} for q in states}
    for (tail, symbol), head in moves:
        transitions[tail].setdefault(symbol, set()).add(head)
    return AutomataNFA(
        states=set(states),
        input_symbols={"a", "b"},
        transitions=transitions,
        initial_state=0,
        final_states=draw(st.sets(st.sampled_from(states))),
    )


@given(automata_nfas())
def test_empty_moves_are_removed_not_read(fa: AutomataNFA) -> None:
    nfa = NFA.from_automata_lib(fa)
    assert list(nfa.alphabet) == ["a", "b"]
    assert accepted(nfa) == accepted(fa)
    assert accepted(nfa.to_automata_lib()) == accepted(fa)


def test_an_automaton_without_empty_moves_keeps_its_states() -> None:
    dfa = DFA(
        states={"p", "q", "unreachable"},
        input_symbols={"b", "a"},
        transitions={"p": {"a": "q"}, "q": {"b": "p"}, "unreachable": {"a": "p"}},
        initial_state="p",
        final_states={"q"},
        allow_partial=True,
    )
    nfa = NFA.from_automata_lib(dfa)
    assert nfa.states == ("p", "q", "unreachable")
    assert nfa.transitions == {"p": {"a": {"q"}}, "q": {"b": {"p"}}, "unreachable": {"a": {"p"}}}
    assert (nfa.initial, nfa.final) == ("p", {"q"})


def test_states_that_only_empty_moves_reached_are_dropped() -> None:
    fa = AutomataNFA(
        states={0, 1, 2},
        input_symbols={"a"},
        transitions={0: {"": {1}}, 1: {"a": {2}}, 2: {}},
        initial_state=0,
        final_states={2},
    )
    nfa = NFA.from_automata_lib(fa)
    assert nfa.states == (0, 2)
    assert nfa.transitions == {0: {"a": {2}}}


@settings(max_examples=50)
@given(nfa_parts(alphabet=["b", "a"]))
def test_automata_lib_gets_the_same_automaton(parts: dict[str, object]) -> None:
    nfa = NFA(**parts)
    fa = nfa.to_automata_lib()
    assert isinstance(fa, AutomataNFA)
    assert fa.states == set(nfa.states)
    assert accepted(fa) == accepted(nfa)
    again = NFA.from_automata_lib(fa)
    assert set(again.states) == set(nfa.states)
    assert again.transitions == nfa.transitions
    assert (again.initial, again.final) == (nfa.initial, nfa.final)


@pytest.mark.parametrize("symbol", ["ab", "", 1, ("a",)])
def test_automata_lib_gets_no_symbol_that_it_cannot_read_back(symbol: object) -> None:
    nfa = NFA(
        states=[0], alphabet=["x", symbol], transitions={0: {symbol: [0]}}, initial=0, final=[0]
    )
    with pytest.raises(InvalidModel) as error:
        nfa.to_automata_lib()
    message = str(error.value)
    assert f"the symbol {symbol!r} is not a single character" in message
    assert "reads words character by character" in message
    assert "nfa.relabel({old: new})" in message
    assert nfa.relabel({symbol: "s"}).to_automata_lib().accepts_input("ss")


def test_a_gnfa_and_strangers_are_refused_with_the_way() -> None:
    dfa = DFA.from_prefix(input_symbols={"a", "b"}, prefix="ab")
    gnfa = GNFA.from_dfa(dfa)
    with pytest.raises(InvalidArgument, match=re.escape("NFA.from_regex(fa.to_regex())")):
        NFA.from_automata_lib(gnfa)
    assert accepted(NFA.from_regex(gnfa.to_regex())) == accepted(dfa)
    with pytest.raises(InvalidArgument, match="fa must be a DFA or an NFA of automata-lib"):
        NFA.from_automata_lib("a*")


# -- regular expressions ----------------------------------------------------------------------

#: What automata-lib and Python's re write alike.
patterns = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "()"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(patterns)
def test_regular_expressions_mean_what_python_says(pattern: str) -> None:
    nfa = NFA.from_regex(pattern, alphabet="ab")
    expected = {w for w in ALL_WORDS if re.fullmatch(pattern, w)}
    assert accepted(nfa) == expected
    for length in (1, 2, 3):
        listed = {w for w in expected if len(w) == length}
        if listed:
            found = {"".join(w) for w in nfa.language(length).words()}
            assert found == listed


def test_operators_that_only_automata_lib_has() -> None:
    both = NFA.from_regex("(a.*)&(.*b)", alphabet="ab")
    assert accepted(both) == {w for w in ALL_WORDS if w.startswith("a") and w.endswith("b")}
    shuffled = NFA.from_regex("ab^b", alphabet="ab")
    assert accepted(shuffled) == {"abb", "bab"}


def test_states_are_numbered_and_the_order_of_the_alphabet_is_kept() -> None:
    nfa = NFA.from_regex("(a|b)*aba(a|b)*", alphabet="ba")
    assert nfa.states == tuple(range(len(nfa.states)))
    assert nfa.initial == 0
    assert list(nfa.alphabet) == ["b", "a"]


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("(b|a)*c", "abc"),
        ("a{2,13}", "a"),
        (r"a\*b", "*ab"),
        ("[x-z]q", "qxyz"),
        (r"1\+2", "+12"),
    ],
)
def test_without_an_alphabet_the_letters_of_the_pattern_are_it(pattern: str, letters: str) -> None:
    assert "".join(NFA.from_regex(pattern).alphabet) == letters


def test_classes_stand_for_their_members_in_the_alphabet() -> None:
    nfa = NFA.from_regex(r"[a-z]\w", alphabet="ab")
    assert accepted(nfa) == {"aa", "ab", "ba", "bb"}


@pytest.mark.parametrize(
    ("pattern", "alphabet", "message"),
    [
        ("a(b", "ab", r"not a regular expression: the \( at position 2 is never closed"),
        ("a(b))", "ab", r"the \) at position 5 closes nothing"),
        ("*", "ab", r"the \* at position 1 has nothing before it"),
        ("(|a)", "ab", r"the \| at position 2 has nothing before it"),
        ("a| |b", "ab", r"the \| at position 4 has nothing before it"),
        ("(a&)b", "ab", "the & at position 3 has nothing behind it"),
        ("a^", "ab", r"the \^ at position 2 has nothing behind it"),
        ("a{3,1}", "ab", r"the \{3,1\} at position 2 counts down; write the smaller number first"),
        ("a{x}", "abx", r"the \{x\} at position 2 should hold counts, as in \{2,5\}"),
        ("{2}a", "ab", r"the \{2\} at position 1 has nothing before it"),
        ("[ab", "ab", r"the \[ at position 1 is never closed"),
        ("a[]", "ab", r"the \[\] at position 2 is a class of no characters"),
        ("a\\", "ab", r"the \\ at position 2 escapes nothing"),
        ("abc", "ab", "pattern names 'c', which is not in the alphabet"),
        (r"a\*", "ab", r"pattern names '\*', which is not in the alphabet"),
        ("c[a-c]", "ab", "pattern names 'c', which is not in the alphabet"),
        ("a", ["a", "bc"], "alphabet: symbol number 1 is not a single character"),
        ("a", ["a", 1], "alphabet: symbol number 1 is not a single character"),
        ("a", "aa", "alphabet: symbol 'a' occurs twice"),
        ("a", "", "alphabet must hold at least one symbol"),
        ("()", None, "pattern must hold at least one symbol"),
        (7, "ab", "pattern must be a string in automata-lib's syntax"),
    ],
)
def test_patterns_that_cannot_be_read(pattern: str, alphabet: str | None, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        NFA.from_regex(pattern, alphabet=alphabet)
