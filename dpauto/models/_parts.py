"""The parts of a nondeterministic automaton, kept as sorted arrays and shown as they were given."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpauto.arguments import shown
from dpauto.arrays import Automaton, BoolArray, sort_edges
from dpauto.models._base import Model
from dpauto.words import Alphabet, IntArray, Symbol

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["AutomatonParts", "fields_of"]


class AutomatonParts(Model):
    """States, alphabet, transitions, initial and final states of an `NFA`."""

    _FIELDS: ClassVar[tuple[str, ...]] = (
        "_states",
        "alphabet",
        "_indptr",
        "_head",
        "_label",
        "_initial",
        "_final",
    )

    _states: Alphabet
    alphabet: Alphabet
    # Transitions with tail q are _indptr[q]:_indptr[q+1], sorted by symbol and head.
    _indptr: IntArray
    _head: IntArray
    _label: IntArray
    _initial: int
    _final: BoolArray

    @classmethod
    def _of_edges(
        cls,
        states: Iterable[Symbol],
        alphabet: Alphabet,
        edges: Iterable[tuple[int, int, int]],
        initial: int,
        final: Iterable[int],
    ) -> Self:
        """Build from numbers: edges (tail, head, label), no checks."""
        names = Alphabet(states)
        accepting = np.zeros(len(names), dtype=bool)
        accepting[list(final)] = True
        return cls._new(**fields_of(names, alphabet, list(edges), initial, accepting))

    @property
    def states(self) -> tuple[Symbol, ...]:
        """Q, in the order of the states' numbers."""
        return tuple(self._states)

    @property
    def initial(self) -> Symbol:
        """q0."""
        state: Symbol = self._states[self._initial]
        return state

    @property
    def final(self) -> frozenset[Symbol]:
        """F."""
        return frozenset(self._states[q] for q in np.flatnonzero(self._final).tolist())

    @property
    def transitions(self) -> dict[Symbol, dict[Symbol, set[Symbol]]]:
        """A copy of δ as ``{state: {symbol: {state, …}}}``, as the constructor takes it."""
        names, sigma = self._states, self.alphabet
        return {
            names[q]: {sigma[s]: {names[p] for p in heads} for s, heads in moves.items()}
            for q, moves in enumerate(self._moves)
            if moves
        }

    @cached_property
    def graph(self) -> nx.MultiDiGraph:
        """The automaton as a frozen networkx MultiDiGraph.

        Nodes are the states, with the attributes "initial" and "final"; every transition is an edge
        with the attribute "symbol".
        """
        import networkx as nx

        graph = nx.MultiDiGraph()
        names = self._states
        for q, final in enumerate(self._final.tolist()):
            graph.add_node(names[q], initial=q == self._initial, final=final)
        for q, moves in enumerate(self._moves):
            for s, heads in moves.items():
                for p in heads:
                    graph.add_edge(names[q], names[p], key=s, symbol=self.alphabet[s])
        return nx.freeze(graph)

    def __repr__(self) -> str:
        return (
            f"<NFA: {len(self._states)} states, {len(self.alphabet)} symbols,"
            f" {len(self._head)} transitions, initial {shown(self.initial)},"
            f" {int(self._final.sum())} final>"
        )

    @cached_property
    def _moves(self) -> list[dict[int, list[int]]]:
        """For every state, the numbers of its successors by symbol number."""
        moves: list[dict[int, list[int]]] = []
        heads, labels = self._head.tolist(), self._label.tolist()
        bounds = self._indptr.tolist()
        for q in range(len(self._states)):
            by_symbol: dict[int, list[int]] = {}
            for e in range(bounds[q], bounds[q + 1]):
                by_symbol.setdefault(labels[e], []).append(heads[e])
            moves.append(by_symbol)
        return moves

    @cached_property
    def _arrays(self) -> Automaton:
        """The automaton as it runs, with the initial state's transitions as the start's."""
        first = slice(self._indptr[self._initial], self._indptr[self._initial + 1])
        return Automaton(
            alphabet=self.alphabet,
            states=self._states,
            start=self.initial,
            start_head=self._head[first],
            start_label=self._label[first],
            indptr=self._indptr,
            head=self._head,
            label=self._label,
            final=self._final,
        )


def fields_of(
    states: Alphabet,
    alphabet: Alphabet,
    edges: list[tuple[int, int, int]],
    initial: int,
    final: BoolArray,
) -> dict[str, Any]:
    """Return the fields of an NFA from its unsorted transitions."""
    table = np.array(edges, dtype=np.int64).reshape(-1, 3)
    indptr, head, label = sort_edges(table[:, 0], table[:, 1], table[:, 2], len(states))
    return {
        "_states": states,
        "alphabet": alphabet,
        "_indptr": indptr,
        "_head": head,
        "_label": label,
        "_initial": initial,
        "_final": final,
    }
