"""Automata to and from automata-lib, and regular expressions, which it parses for us."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

from dpauto.arguments import require_graph, shown
from dpauto.errors import InvalidArgument, InvalidModel
from dpauto.models._parse import parse_attribute, parse_names
from dpauto.models._patterns import fault_of, letters_of
from dpauto.words import Alphabet, Symbol, canonical_order

if TYPE_CHECKING:
    import networkx as nx

    from dpauto.models.nfa import NFA

__all__ = ["read_automata_lib", "read_networkx", "read_regex", "write_automata_lib"]

#: {state: {symbol: {state, ...}}}, where "" is the empty move.
_Moves = Mapping[Any, Mapping[Any, Iterable[Any]]]


def read_networkx(graph: nx.DiGraph, symbol: str) -> dict[str, Any]:
    """Return the states, alphabet and transitions of a labelled graph; see `NFA.from_networkx`.

    Raises
    ------
    InvalidArgument
        If `graph` is no graph, or `symbol` cannot name an attribute.
    InvalidModel
        If the graph is undirected, or an edge has no symbol or one that is not hashable.
    """
    graph = require_graph(graph, wanted="such as nx.MultiDiGraph")
    symbol = parse_attribute(symbol, argument="symbol")
    if not graph.is_directed():
        raise InvalidModel(
            "graph must be directed; graph.to_directed() makes every edge go both ways"
        )
    transitions: dict[Symbol, dict[Symbol, list[Symbol]]] = {}
    seen: dict[Symbol, None] = {}
    for tail, head, data in graph.edges(data=True):
        edge = f"the edge from {shown(tail)} to {shown(head)}"
        if symbol not in data:
            raise InvalidModel(
                f"graph: {edge} has no attribute {symbol!r}; name the attribute that holds its"
                " symbol with symbol=…"
            )
        label = data[symbol]
        try:
            seen[label] = None
        except TypeError:
            raise InvalidModel(
                f"graph: the symbol of {edge} is not hashable; give each symbol an edge of its own"
                " in a MultiDiGraph"
            ) from None
        transitions.setdefault(tail, {}).setdefault(label, []).append(head)
    return {"states": list(graph.nodes), "alphabet": list(seen), "transitions": transitions}


def read_automata_lib(fa: Any) -> NFA:
    """See `NFA.from_automata_lib`.

    Raises
    ------
    InvalidArgument
        If `fa` is neither a DFA nor an NFA.
    """
    from automata.fa import nfa as automata_nfa
    from automata.fa.dfa import DFA
    from automata.fa.gnfa import GNFA

    moves: _Moves
    if isinstance(fa, DFA):
        moves = {q: {s: (p,) for s, p in row.items()} for q, row in fa.transitions.items()}
    elif isinstance(fa, automata_nfa.NFA) and not isinstance(fa, GNFA):
        moves = fa.transitions
    else:
        way = "; convert it with NFA.from_regex(fa.to_regex())" if isinstance(fa, GNFA) else ""
        raise InvalidArgument(f"fa must be a DFA or an NFA of automata-lib{way}")
    alphabet = parse_names(fa.input_symbols, argument="fa", noun="symbol")
    return _without_empty_moves(moves, fa.states, alphabet, fa.initial_state, fa.final_states)


def read_regex(pattern: str, alphabet: Iterable[str] | None) -> NFA:
    """See `NFA.from_regex`.

    Raises
    ------
    InvalidModel
        If the pattern is malformed or names a symbol outside the alphabet.
    """
    from automata.base.exceptions import AutomatonException, RegexException
    from automata.fa import nfa as automata_nfa

    from dpauto.models.nfa import NFA

    if not isinstance(pattern, str):
        raise InvalidModel("pattern must be a string in automata-lib's syntax")
    letters = list(dict.fromkeys(letters_of(pattern)))
    if alphabet is None:
        sigma = None
    else:
        sigma = parse_names(alphabet, argument="alphabet", noun="symbol")
        for number, symbol in enumerate(sigma):
            if not isinstance(symbol, str) or len(symbol) != 1:
                raise InvalidModel(
                    f"alphabet: symbol number {number} is not a single character, and a regular"
                    " expression reads words by character; build NFA(…) for other symbols"
                )
        for letter in letters:
            if letter not in sigma:
                raise InvalidModel(f"pattern names {letter!r}, which is not in the alphabet")
    try:
        symbols: set[Any] = set(letters if sigma is None else sigma)
        fa = automata_nfa.NFA.from_regex(pattern, input_symbols=symbols)
    except (AutomatonException, RegexException) as error:
        raise InvalidModel(f"pattern is not a regular expression: {fault_of(pattern)}") from error
    if sigma is None:
        sigma = parse_names(fa.input_symbols, argument="pattern", noun="symbol")
    nfa = _without_empty_moves(
        fa.transitions, fa.states, sigma, fa.initial_state, fa.final_states
    ).trim()
    return NFA._new(**{**nfa.__getstate__(), "_states": Alphabet(range(len(nfa.states)))})


def _without_empty_moves(
    moves: _Moves,
    states: Iterable[Symbol],
    alphabet: Alphabet,
    initial: Symbol,
    accepting: Set[Symbol],
) -> NFA:
    """Build the NFA of the same words whose every move reads a symbol of `alphabet`.

    A state takes the moves of every state that empty moves lead it to, and is final if one of those
    is. States are numbered breadth first, so that the order does not depend on hashing.
    """
    from dpauto.models.nfa import NFA

    closure = {q: _closure(moves, q) for q in states}
    rows = {q: _row(moves, closure[q], alphabet) for q in states}
    number: dict[Symbol, int] = {initial: 0}
    queue = deque([initial])
    while queue:
        for heads in rows[queue.popleft()].values():
            for head in heads:
                if head not in number:
                    number[head] = len(number)
                    queue.append(head)
    if not any("" in row for row in moves.values()):
        # Unreachable states of an automaton without empty moves are its author's, and stay.
        for state in canonical_order(set(rows) - number.keys()):
            number[state] = len(number)
    return NFA._of_edges(
        list(number),
        alphabet,
        [
            (tail, number[head], label)
            for state, tail in number.items()
            for label, heads in rows[state].items()
            for head in heads
        ],
        0,
        [k for state, k in number.items() if not accepting.isdisjoint(closure[state])],
    )


def _row(moves: _Moves, closure: Iterable[Symbol], alphabet: Alphabet) -> dict[int, list[Symbol]]:
    """Return where each symbol number leads from a closure, both in an order free of hashing."""
    heads: dict[int, set[Symbol]] = {}
    for state in closure:
        for symbol, targets in moves.get(state, {}).items():
            label = alphabet.number(symbol)
            if label is not None:
                heads.setdefault(label, set()).update(targets)
    return {label: canonical_order(heads[label]) for label in sorted(heads)}


def _closure(moves: _Moves, state: Symbol) -> list[Symbol]:
    """Return the states that empty moves lead to from `state`, itself included."""
    found = {state: None}
    stack = [state]
    while stack:
        for head in moves.get(stack.pop(), {}).get("", ()):
            if head not in found:
                found[head] = None
                stack.append(head)
    return list(found)


def write_automata_lib(nfa: NFA) -> Any:
    """See `NFA.to_automata_lib`.

    Raises
    ------
    InvalidModel
        If a symbol is not a single character.
    """
    from automata.fa import nfa as automata_nfa

    for symbol in nfa.alphabet:
        if not isinstance(symbol, str) or len(symbol) != 1:
            raise InvalidModel(
                f"the symbol {shown(symbol)} is not a single character, and automata-lib reads"
                " words character by character, so it could not be read back; rename the symbols"
                " first, as in nfa.relabel({old: new})"
            )
    moves: dict[Any, Any] = nfa.transitions
    symbols: set[Any] = set(nfa.alphabet)
    return automata_nfa.NFA(
        states=set(nfa.states),
        input_symbols=symbols,
        transitions={state: moves.get(state, {}) for state in nfa.states},
        initial_state=nfa.initial,
        final_states=nfa.final,
    )
