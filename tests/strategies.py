"""Hypothesis strategies that all tests share: alphabets, words, costs, models, small languages.

A strategy named ``..._parts`` makes the arguments of a constructor as plain Python, which the
oracles read; the others make the objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
from hypothesis import strategies as st

from dpauto import MDP, NFA, Language, MarkovChain
from dpauto.arrays import START, Automaton
from dpauto.words import Alphabet

Word = tuple[Hashable, ...]

#: Strings of one and of many characters, numbers and tuples; 1 and "1" are two symbols.
SYMBOLS: tuple[Hashable, ...] = ("a", "b", 1, "1", "a b", (0, "c"), -7, "é", ("a",), 2**70)

#: ε as a user may write it, with the exact number that is meant.
epsilons = st.sampled_from(
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Fraction(7, 2), Fraction(7, 2)),
        ("2.5", Fraction(5, 2)),
        (8, Fraction(8)),
    ]
)

adjacencies = st.integers(1, 3)


def alphabets(min_size: int = 1, max_size: int = 4) -> st.SearchStrategy[list[Hashable]]:
    """Distinct symbols of several types, in any order."""
    return st.lists(st.sampled_from(SYMBOLS), min_size=min_size, max_size=max_size, unique_by=repr)


def words(
    alphabet: Sequence[Hashable], length: int | None = None, max_length: int = 6
) -> st.SearchStrategy[Word]:
    """Words over an alphabet, of one length or of any from 1 to `max_length`."""
    low, high = (1, max_length) if length is None else (length, length)
    return st.lists(st.sampled_from(list(alphabet)), min_size=low, max_size=high).map(tuple)


@st.composite
def costs(
    draw: st.DrawFn, alphabet: Sequence[Hashable], *, zeros: bool = True
) -> dict[tuple[Hashable, Hashable], int | Fraction]:
    """A cost for every ordered pair of different symbols, not all of them 0."""
    units = [0, 1, 2, 3, Fraction(1, 2), Fraction(2, 3)] if zeros else [1, 2, 3, Fraction(1, 2)]
    pairs = [(a, b) for a in alphabet for b in alphabet if a != b]
    table = {pair: draw(st.sampled_from(units)) for pair in pairs}
    if pairs and not any(table.values()):
        table[draw(st.sampled_from(pairs))] = 1
    return table


# -- models -----------------------------------------------------------------------------------


@st.composite
def nfa_parts(
    draw: st.DrawFn,
    *,
    max_states: int = 5,
    max_symbols: int = 3,
    alphabet: list[Hashable] | None = None,
) -> dict[str, Any]:
    """Arguments of `NFA`: often ambiguous, sometimes with useless states or no word at all."""
    alphabet = draw(alphabets(max_size=max_symbols)) if alphabet is None else alphabet
    states = draw(alphabets(max_size=max_states))
    move = st.tuples(st.sampled_from(states), st.sampled_from(alphabet), st.sampled_from(states))
    moves = draw(st.lists(move, max_size=3 * len(states)))
    transitions: dict[Hashable, dict[Hashable, set[Hashable]]] = {}
    for tail, symbol, head in moves:
        transitions.setdefault(tail, {}).setdefault(symbol, set()).add(head)
    return {
        "states": states,
        "alphabet": alphabet,
        "transitions": transitions,
        "initial": draw(st.sampled_from(states)),
        "final": draw(st.sets(st.sampled_from(states))),
    }


def nfas(**options: Any) -> st.SearchStrategy[NFA]:
    """NFAs; `options` are those of `nfa_parts`."""
    return nfa_parts(**options).map(lambda parts: NFA(**parts))


@st.composite
def distributions(draw: st.DrawFn, outcomes: Sequence[Hashable]) -> dict[Hashable, float]:
    """Positive probabilities of some of the outcomes."""
    chosen = draw(st.lists(st.sampled_from(list(outcomes)), min_size=1, unique_by=repr))
    weights = [draw(st.integers(1, 5)) for _ in chosen]
    return {s: k / sum(weights) for s, k in zip(chosen, weights, strict=True)}


@st.composite
def chain_parts(draw: st.DrawFn, *, max_states: int = 5, dead_ends: bool = True) -> dict[str, Any]:
    """Arguments of `MarkovChain`, with and without a public start."""
    states = draw(alphabets(max_size=max_states))
    transitions = {}
    for state in states:
        if not dead_ends or draw(st.integers(0, 4)):
            transitions[state] = draw(distributions(states))
    return {
        "states": states,
        "transitions": transitions,
        "initial": draw(st.sampled_from([None, *states])),
    }


def chains(**options: Any) -> st.SearchStrategy[MarkovChain]:
    """Markov chains; `options` are those of `chain_parts`."""
    return chain_parts(**options).map(lambda parts: MarkovChain(**parts))


@st.composite
def mdp_parts(draw: st.DrawFn, *, max_states: int = 4, max_actions: int = 3) -> dict[str, Any]:
    """Arguments of `MDP`; states may share actions, or have none."""
    states = draw(alphabets(max_size=max_states))
    actions = draw(alphabets(max_size=max_actions))
    transitions = {}
    for state in states:
        available = draw(st.lists(st.sampled_from(actions), unique_by=repr))
        transitions[state] = {action: draw(distributions(states)) for action in available}
    return {
        "states": states,
        "transitions": transitions,
        "initial": draw(st.sampled_from([None, *states])),
    }


def mdps(**options: Any) -> st.SearchStrategy[MDP]:
    """Markov decision processes; `options` are those of `mdp_parts`."""
    return mdp_parts(**options).map(lambda parts: MDP(**parts))


@st.composite
def automata(draw: st.DrawFn, max_states: int = 6, max_symbols: int = 3) -> Automaton:
    """Arrays of any kind: ambiguous, with useless states, without final states."""
    size, symbols = draw(st.integers(1, max_states)), draw(st.integers(1, max_symbols))
    state, symbol = st.integers(0, size - 1), st.integers(0, symbols - 1)
    edges = draw(st.lists(st.tuples(state, state, symbol), max_size=3 * size))
    first = draw(st.lists(st.tuples(state, symbol), min_size=1, max_size=4))
    final = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    columns = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    heads, labels = np.array(first, dtype=np.int64).T
    return Automaton.of(
        alphabet=Alphabet([f"s{k}" for k in range(symbols)]),
        states=[f"q{k}" for k in range(size)],
        start=START,
        start_edges=(heads, labels),
        edges=(columns[0], columns[1], columns[2]),
        final=np.array(final),
    )


# -- languages --------------------------------------------------------------------------------


@st.composite
def languages(
    draw: st.DrawFn, *, max_length: int = 4, max_words: int = 200
) -> tuple[Language, list[Word]]:
    """A small language of any origin, with its words as an oracle lists them."""
    length = draw(st.integers(1, max_length))
    kind = draw(st.sampled_from(["nfa", "chain", "list", "all"]))
    if kind == "all":
        alphabet = draw(alphabets(max_size=3))
        return Language.all_words(alphabet, length), oracles.all_words(alphabet, length)
    if kind == "list":
        alphabet = draw(alphabets(max_size=4))
        listed = draw(st.lists(words(alphabet, length), min_size=1, max_size=12, unique_by=repr))
        return Language.of(listed, alphabet=alphabet), listed
    model: NFA | MarkovChain
    if kind == "nfa":
        parts = draw(nfa_parts(max_states=4, max_symbols=3))
        found = oracles.nfa_words(
            parts["transitions"],
            parts["initial"],
            parts["final"],
            parts["alphabet"],
            length,
        )
        model = NFA(**parts)
    else:
        parts = draw(chain_parts(max_states=4))
        successors = {s: list(parts["transitions"].get(s, ())) for s in parts["states"]}
        found = oracles.graph_words(successors, length, parts["initial"])
        model = MarkovChain(**parts)
    if not 0 < len(found) <= max_words:
        # An empty language is an error, with tests of its own: take its whole space instead.
        alphabet = parts["states"] if kind == "chain" else parts["alphabet"]
        return Language.all_words(alphabet, length), oracles.all_words(alphabet, length)
    return model.language(length), found
