"""Markov decision processes: what observers see of their runs, policies, and construction."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import mdp_parts

from dpauto import MDP, EmptyLanguage, InvalidArgument, InvalidModel, MarkovChain
from dpauto.formats import read_model

Parts = dict[str, Any]
Word = tuple[Hashable, ...]

ROBOT = {
    "dock": {"go": {"hall": 1}, "wait": {"dock": 1}},
    "hall": {"go": {"lab": 0.9, "hall": 0.1}, "back": {"dock": 1}},
    "lab": {"back": {"hall": 1}},
}


def robot(initial: str | None = "dock") -> MDP:
    return MDP(states=list(ROBOT), transitions=ROBOT, initial=initial)


def observed(parts: Parts, length: int, observe: str) -> set[Word]:
    """Words by walking every run, with the definition in hand."""
    transitions, initial = parts["transitions"], parts["initial"]

    def steps(state: Hashable) -> list[tuple[Hashable, Hashable]]:
        choices = transitions.get(state, {}).items()
        return [(action, head) for action, row in choices for head in row]

    runs: list[tuple[Hashable, Word]]
    if initial is None and observe == "states":
        runs = [(state, (state,)) for state in parts["states"]]
        length -= 1
    else:
        runs = [(state, ()) for state in (parts["states"] if initial is None else [initial])]
    for _ in range(length):
        runs = [
            (head, (*word, {"states": head, "actions": action, "both": (action, head)}[observe]))
            for state, word in runs
            for action, head in steps(state)
        ]
    return {word for _, word in runs}


@settings(max_examples=50)
@given(mdp_parts(), st.integers(1, 3), st.sampled_from(["states", "actions", "both"]))
def test_the_language_is_what_can_be_observed(parts: Parts, length: int, observe: str) -> None:
    mdp = MDP(**parts)
    expected = observed(parts, length, observe)
    if expected:
        language = mdp.language(length, observe)
        assert set(language.words()) == expected
        assert language.count() == len(expected)
    else:
        with pytest.raises(EmptyLanguage):
            mdp.language(length, observe=observe)


def test_runs_that_look_alike_are_one_word() -> None:
    # "go" in the hall has two outcomes, so that action words have several runs.
    language = robot().language(4, observe="actions")
    assert ("go", "go", "go", "back") in language
    assert language.count() == len(
        observed({"transitions": ROBOT, "initial": "dock"}, 4, "actions")
    )


def test_alphabets_of_the_three_views() -> None:
    mdp = robot()
    assert mdp.states == ("dock", "hall", "lab")
    assert mdp.actions == ("go", "wait", "back")
    assert list(mdp.language(2).alphabet) == ["dock", "hall", "lab"]
    assert list(mdp.language(2, "actions").alphabet) == ["go", "wait", "back"]
    assert list(mdp.language(2, "both").alphabet) == [
        ("go", "hall"),
        ("go", "lab"),
        ("wait", "dock"),
        ("back", "dock"),
        ("back", "hall"),
    ]


def test_any_start_is_seen_only_through_states() -> None:
    mdp = robot(None)
    assert set(mdp.language(1).words()) == {("dock",), ("hall",), ("lab",)}
    assert set(mdp.language(1, "actions").words()) == {("go",), ("wait",), ("back",)}
    assert ("back", "hall") in {w[0] for w in mdp.language(1, "both").words()}


def test_a_process_without_actions_has_one_word_of_states_at_most() -> None:
    mdp = MDP(states="ab", transitions={})
    assert mdp.language(1).count() == 2
    for observe in ("actions", "both"):
        with pytest.raises(EmptyLanguage, match="no state has an action"):
            mdp.language(1, observe)


def test_arguments_of_language() -> None:
    with pytest.raises(InvalidArgument, match="observe must be 'states', 'actions' or 'both'"):
        robot().language(3, observe="state")
    with pytest.raises(InvalidArgument, match="length must be a whole number of at least 1"):
        robot().language(0)


@pytest.mark.parametrize("name", ["bluetooth", "first_grid", "mqtt", "slot_machine", "tcp"])
def test_protocols_that_take_any_action_at_any_time(data: Path, name: str) -> None:
    # Learned models of real protocols are ambiguous in their actions, and yet allow all of them.
    mdp = read_model(str(data / "automata_dot_aalpy" / f"MDPs-{name}.dot"))
    language = mdp.language(20, observe="actions")
    assert language.count() == len(mdp.actions) ** 20
    assert language.automaton.n_states == 1


# -- policies ---------------------------------------------------------------------------------


def test_a_policy_makes_a_chain() -> None:
    chain = robot().chain({"dock": "go", "hall": {"go": 0.5, "back": 0.5}, "lab": "back"})
    assert chain == MarkovChain(
        states=["dock", "hall", "lab"],
        transitions={
            "dock": {"hall": 1},
            "hall": {"lab": 0.45, "hall": 0.05, "dock": 0.5},
            "lab": {"hall": 1},
        },
        initial="dock",
    )


@settings(max_examples=50)
@given(mdp_parts(), st.data())
def test_chains_follow_the_law_of_total_probability(parts: Parts, data: st.DataObject) -> None:
    mdp = MDP(**parts)
    policy: dict[Hashable, Any] = {}
    expected: dict[Hashable, dict[Hashable, float]] = {}
    for state, choices in parts["transitions"].items():
        if not choices:
            continue
        weights = {a: data.draw(st.integers(0, 3)) for a in choices}
        weights[next(iter(choices))] += 1
        policy[state] = {a: k / sum(weights.values()) for a, k in weights.items()}
        row = expected.setdefault(state, {})
        for action, p in policy[state].items():
            for head, q in choices[action].items():
                row[head] = row.get(head, 0) + p * q
    chain = mdp.chain(policy)
    assert chain.initial == mdp.initial
    for state in parts["states"]:
        row = {head: p for head, p in expected.get(state, {}).items() if p}
        assert chain.transitions.get(state, {}) == pytest.approx(row)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"dock": "go", "hall": "go"}, "policy must choose .* state 'lab' is missing"),
        ({"attic": "go"}, "policy: 'attic' is not a known state"),
        ({"dock": "back"}, r"policy\['dock'\]: 'back' is not an action of that state"),
        ({"dock": {"go": 0.5}}, r"policy\['dock'\]: the probabilities sum to 0\.5, not to 1"),
        ({"dock": {"go": -1, "wait": 2}}, r"policy\['dock'\]\['go'\] must be a prob.* not -1"),
        ({"dock": {}}, r"policy\['dock'\]: the probabilities sum to 0\.0, not to 1"),
        (["go"], "policy must be a mapping {state: action} or"),
    ],
)
def test_policies_that_do_not_fit(policy: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        robot().chain(policy)


# -- construction -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": []}, "states must hold at least one state"),
        ({"initial": "x"}, "initial: 'x' is not a known state"),
        ({"transitions": 0}, r"transitions must be a mapping \{state: \{action: \{state: prob"),
        ({"transitions": {"x": {}}}, "transitions: 'x' is not a known state"),
        ({"transitions": {"a": ["go"]}}, r"transitions\['a'\] must be a mapping \{action: "),
        ({"transitions": {"a": {"go": "a"}}}, r"transitions\['a'\]\['go'\] must be a mapping"),
        ({"transitions": {"a": {"go": {"x": 1}}}}, r"\['go'\]: 'x' is not a known state"),
        (
            {"transitions": {"a": {"go": {"a": math.nan}}}},
            r"transitions\['a'\]\['go'\]\['a'\] must be a probability from 0 to 1, not nan",
        ),
        (
            {"transitions": {"a": {"go": {"a": 0.5}}}},
            r"transitions\['a'\]\['go'\]: the probabilities sum to 0\.5, not to 1 within 1e-09",
        ),
        ({"transitions": {"a": {"go": {}}}}, r"\['a'\]\['go'\]: the probabilities sum to 0"),
    ],
)
def test_what_does_not_fit_is_named(change: Parts, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        MDP(**{"states": ["a"], "transitions": {}, **change})


@settings(max_examples=50)
@given(mdp_parts())
def test_the_parts_come_back(parts: Parts) -> None:
    mdp = MDP(**parts)
    assert mdp.states == tuple(parts["states"])
    assert mdp.initial == parts["initial"]
    assert mdp.transitions == {s: row for s, row in parts["transitions"].items() if row}
    again = MDP(states=mdp.states, transitions=mdp.transitions, initial=mdp.initial)
    assert again == mdp
    assert hash(again) == hash(mdp)


@settings(max_examples=50)
@given(mdp_parts())
def test_the_graph_holds_every_transition(parts: Parts) -> None:
    graph = MDP(**parts).graph
    assert isinstance(graph, nx.MultiDiGraph)
    assert list(graph.nodes) == parts["states"]
    found = sorted(
        ((t, d["action"], h, d["probability"]) for t, h, d in graph.edges(data=True)), key=repr
    )
    assert found == sorted(
        (
            (tail, action, head, p)
            for tail, choices in parts["transitions"].items()
            for action, row in choices.items()
            for head, p in row.items()
        ),
        key=repr,
    )
