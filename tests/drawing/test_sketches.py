"""What is drawn of a model is what the model has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import strategies
from hypothesis import given, settings

from dpauto import MDP, NFA, InvalidArgument, Language, MarkovChain, hamming_automaton, mnfa
from dpauto.drawing.dot import Sketch, to_dot
from dpauto.drawing.labels import Labeller
from dpauto.drawing.sketches import node_count, sketch
from dpauto.examples import sioux_falls

CHECKOUT = Path(__file__).resolve().parents[2]


def visible(drawn: Sketch) -> list[Any]:
    return [node for node in drawn.nodes if node.style in ("state", "final")]


def arrows(drawn: Sketch) -> list[Any]:
    """The edges between what can be seen, without the arrow from nowhere."""
    return [edge for edge in drawn.edges if drawn.nodes[edge.tail].style != "hidden"]


@given(strategies.nfas())
def test_nfa_has_every_state_and_transition(nfa: NFA) -> None:
    drawn = sketch(nfa)
    states, symbols = Labeller(nfa.states).text, Labeller(nfa.alphabet).text
    assert [(n.label, n.style == "final") for n in visible(drawn)] == [
        (states(q), q in nfa.final) for q in nfa.states
    ]
    expected: dict[tuple[int, int], set[str]] = {}
    for tail, head, symbol in nfa.graph.edges(data="symbol"):
        pair = (nfa.states.index(tail), nfa.states.index(head))
        expected.setdefault(pair, set()).add(symbols(symbol))
    found = {(e.tail, e.head): set(e.lines[0].split(", ")) for e in arrows(drawn)}
    # Symbols with commas are drawn as literals, which split into other pieces but as many sets.
    assert found.keys() == expected.keys()
    if not any("," in text for texts in expected.values() for text in texts):
        assert found == expected
    (entry,) = [e for e in drawn.edges if drawn.nodes[e.tail].style == "hidden"]
    assert nfa.states[entry.head] == nfa.initial


@given(strategies.chains())
def test_chain_has_every_step_with_its_probability(chain: MarkovChain) -> None:
    drawn = sketch(chain)
    assert len(visible(drawn)) == len(chain.states) == node_count(chain)
    assert Counter((e.tail, e.head) for e in arrows(drawn)) == Counter(
        (chain.states.index(u), chain.states.index(v)) for u, v in chain.graph.edges
    )
    entries = [e.head for e in drawn.edges if drawn.nodes[e.tail].style == "hidden"]
    assert entries == ([] if chain.initial is None else [chain.states.index(chain.initial)])


def test_chain_probabilities() -> None:
    chain = MarkovChain(
        states=["a", "b"], transitions={"a": {"a": 1 / 3, "b": 2 / 3}, "b": {"a": 1}}
    )
    assert [(e.tail, e.head, e.lines) for e in sketch(chain).edges] == [
        (0, 0, ("1/3",)),
        (0, 1, ("2/3",)),
        (1, 0, ("1",)),
    ]


def test_mdp_has_a_dot_where_chance_decides() -> None:
    mdp = MDP(
        states=["x", "y"],
        transitions={"x": {"stay": {"x": 1}, "go": {"x": 0.25, "y": 0.75}}, "y": {"go": {"y": 1}}},
        initial="x",
    )
    drawn = sketch(mdp)
    assert [n.style for n in drawn.nodes] == ["state", "state", "origin", "hidden"]
    assert [(e.tail, e.head, e.lines) for e in arrows(drawn)] == [
        (0, 0, ("stay",)),
        (0, 2, ("go",)),
        (1, 1, ("go",)),
        (2, 0, ("0.25",)),
        (2, 1, ("0.75",)),
    ]


@given(strategies.mdps())
@settings(max_examples=30)
def test_mdps_of_any_kind_can_be_drawn(mdp: MDP) -> None:
    drawn = sketch(mdp)
    assert len(visible(drawn)) == len(mdp.states)
    outcomes = sum(len(row) for rows in mdp.transitions.values() for row in rows.values())
    choices = sum(len(row) > 1 for rows in mdp.transitions.values() for row in rows.values())
    texts = [line for e in arrows(drawn) for line in e.lines for _ in line.split(", ")]
    assert len(texts) >= choices
    assert sum(n.style == "origin" for n in drawn.nodes) == choices
    assert len(arrows(drawn)) <= outcomes + choices


def test_language_is_drawn_from_a_dot_in_layers_where_it_has_them() -> None:
    drawn = sketch(Language.of(["abc", "abd", "bbd"]))
    assert drawn.layered
    assert {n.rank for n in drawn.nodes} == {0, 1, 2, 3}
    (origin,) = (k for k, n in enumerate(drawn.nodes) if n.style == "origin")
    assert sorted(e.lines for e in drawn.edges if e.tail == origin) == [("a",), ("b",)]


def test_chain_language_does_not_say_states_twice() -> None:
    roads = sioux_falls()
    drawn = sketch(MarkovChain.from_networkx(roads, initial=1).language(12))
    assert all(edge.lines == () for edge in drawn.edges)
    assert not drawn.layered
    anywhere = sketch(MarkovChain.from_networkx(roads).language(12))
    assert len(anywhere.edges) == 76
    assert anywhere.caption == "any state may come first"


def test_hamming_automaton_has_columns_rows_and_true_symbols_apart() -> None:
    drawn = sketch(hamming_automaton("abba", "abc", 2))
    assert drawn.layered
    for node in visible(drawn):
        assert node.label == f"({node.rank}, {node.row})"
    for edge in arrows(drawn):
        tail, head = drawn.nodes[edge.tail], drawn.nodes[edge.head]
        true = head.row == tail.row
        assert edge.style == ("true" if true else "wrong")
        letter = "abba"[tail.rank or 0]
        assert edge.lines == ((letter if true else ", ".join(s for s in "abc" if s != letter)),)


def test_automata_over_pairs_are_not_taken_for_hamming_automata() -> None:
    nfa = NFA(
        states=[(0, 0), (1, 2)],
        alphabet="a",
        transitions={(0, 0): {"a": [(1, 2)]}},
        initial=(0, 0),
        final=[(1, 2)],
    )
    assert all(edge.style == "plain" for edge in sketch(nfa).edges)


def test_mnfa_shows_the_policy_and_merges_equal_chances() -> None:
    near = mnfa("abba", 2, Language.all_words("abc", 4))
    drawn = sketch(near)
    assert len(visible(drawn)) == near.number_of_nodes == node_count(near) == 9
    start = [e for e in arrows(drawn) if e.tail == 0]
    assert [(e.lines, e.style) for e in start] == [
        (("a: 1/2",), "true"),
        (("b, c: 1/4 each",), "wrong"),
    ]
    for edge in arrows(drawn):
        tail, head = drawn.nodes[edge.tail], drawn.nodes[edge.head]
        assert head.rank == (tail.rank or 0) + 1
        assert (edge.style == "true") == (head.row == tail.row)


def test_product_nodes_name_the_state_and_the_place() -> None:
    language = MarkovChain.from_networkx(sioux_falls(), initial=1).language(4)
    near = mnfa([2, 6, 8, 9], 2, language)
    drawn = sketch(near)
    labels = {(n.label, n.note) for n in visible(drawn)}
    assert labels == {("0, 0", "")} | {(str(q), f"{i}, {j}") for i, j, q in near.graph if i}


def test_many_parallel_edges_are_counted() -> None:
    near = mnfa([0] * 3, 1, Language.all_words(range(1000), 3))
    wrong = [e.lines for e in sketch(near).edges if e.style == "wrong"]
    share = Fraction(1, 3) / 999
    assert ("1, 2, 3, 4, 5, … (999): " + f"{share} each",) in wrong


@pytest.mark.parametrize("thing", [None, "abba", 3, {"a": 1}])
def test_refuses_what_cannot_be_drawn(thing: Any) -> None:
    with pytest.raises(InvalidArgument, match="only an NFA, MarkovChain, MDP, Language or MNFA"):
        node_count(thing)


SCRIPT = """
import sys
from dpauto import NFA, MDP, Language, MarkovChain, hamming_automaton, mnfa
from dpauto.drawing import diagram
nfa = NFA(states={"q", "r", 1, "1", (2, "x")}, alphabet={"a", "b", "long name", 7},
          transitions={"q": {"a": {"r", 1, "1"}, "b": {"q"}}, "r": {"long name": {(2, "x"), "q"}}},
          initial="q", final={1, "1", "r"})
chain = MarkovChain(states={"s", "t", "u"},
                    transitions={"s": {"t": 0.5, "u": 0.5}, "t": {"s": 1}, "u": {"t": 1}})
mdp = MDP(states={"s", "t"}, transitions={"s": {"a": {"s": 0.5, "t": 0.5}}, "t": {"b": {"s": 1}}})
near = mnfa("stu", 2, Language.all_words({"s", "t", "u"}, 3))
words = Language.of({"abc", "abd", "bbc"})
things = [nfa, nfa.determinize(), chain, mdp, near, words, chain.language(3),
          hamming_automaton("st", {"s", "t", "u"}, 1), mnfa("stu", 2, chain.language(3))]
sys.stdout.buffer.write("".join(diagram(t).dot for t in things).encode())
"""


def test_equal_models_give_equal_bytes_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    (text,) = texts
    assert text.count(b"digraph") == 9


def test_states_that_look_alike_are_two_nodes() -> None:
    nfa = NFA(
        states=[1, "1"], alphabet=["a"], transitions={1: {"a": ["1"]}}, initial=1, final=["1"]
    )
    text = to_dot(sketch(nfa))
    assert '  0 [label="1"];' in text
    assert '  1 [label="\'1\'", peripheries="2"];' in text
