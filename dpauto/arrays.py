"""Automata as arrays: the representation that runs, beside the graphs that are read and drawn.

An `Automaton` has one start, states numbered from 0 and labelled edges sorted by tail (CSR). The
first step is kept apart, as the start's own edges: a public start state and "any state may start"
then look alike, and the start costs nothing in later layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpauto.words import Alphabet, IntArray, Symbol

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "START",
    "Automaton",
    "BoolArray",
    "Layer",
    "pointers",
    "ragged",
    "reduce_rows",
    "sort_edges",
    "sparse_tools",
]

BoolArray = NDArray[np.bool_]


class _Start:
    """The name of a start that is no state of the model: any state may come first."""

    def __repr__(self) -> str:
        return "start"

    def __reduce__(self) -> str:
        return "START"


START = _Start()


def ragged(starts: IntArray, stops: IntArray) -> IntArray:
    """Return the concatenation of the ranges ``starts[k]:stops[k]``."""
    lengths = stops - starts
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, dtype=np.int64)
    offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return offsets + np.arange(total)


def pointers(groups: IntArray, count: int) -> IntArray:
    """Return where each of `count` groups begins in an array sorted by group, and where all end."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=starts[1:])
    return starts


def reduce_rows(ufunc: np.ufunc, values: Any, indptr: NDArray[Any], empty: int) -> Any:
    """Reduce each CSR row of `values`, which keep their type; empty rows become `empty`."""
    reduced = np.full(len(indptr) - 1, empty, dtype=values.dtype)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        reduced[filled] = ufunc.reduceat(values, indptr[filled])
    return reduced


@cache
def sparse_tools() -> Any:
    """Return SciPy's compiled products of sparse matrices, as raw functions on arrays.

    The extension needs numpy alone, but importing it by name first runs all of scipy.sparse, which
    takes longer than everything else that a first release imports.
    """
    import scipy

    name = "scipy.sparse._sparsetools"
    spec = PathFinder.find_spec(name, [str(Path(place, "sparse")) for place in scipy.__path__])
    if spec is None or spec.loader is None:
        # Another layout of SciPy's files.
        from scipy.sparse import _sparsetools

        return _sparsetools
    tools = module_from_spec(spec)
    spec.loader.exec_module(tools)
    return tools


def sort_edges(
    tail: IntArray, head: IntArray, label: IntArray, n_states: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (indptr, head, label) of the distinct edges, sorted by tail, label and head."""
    if len(tail):
        if not _in_order(tail, label, head):
            order = np.lexsort((head, label, tail))
            tail, head, label = tail[order], head[order], label[order]
        new = np.ones(len(tail), dtype=bool)
        new[1:] = (np.diff(tail) != 0) | (np.diff(head) != 0) | (np.diff(label) != 0)
        tail, head, label = tail[new], head[new], label[new]
    return pointers(tail, n_states), head, label


def _in_order(first: IntArray, second: IntArray, third: IntArray) -> bool:
    """Return whether triples are sorted already: three passes, where sorting takes many."""
    steps = np.diff(first)
    tied = steps == 0
    if (steps < 0).any() or (np.diff(second)[tied] < 0).any():
        return False
    tied &= np.diff(second) == 0
    return not (np.diff(third)[tied] < 0).any()


@dataclass(frozen=True, eq=False)
class Layer:
    """The edges that read symbol i + 1 of a word, as CSR rows.

    Attributes
    ----------
    i : int
        Symbols read before.
    indptr, head, label : int64 arrays
        A row for each state that matters after i symbols, from number 0 on; for i = 0 one row, the
        start's.
    """

    i: int
    indptr: IntArray
    head: IntArray
    label: IntArray

    @property
    def n_tails(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @cached_property
    def tail(self) -> IntArray:
        """Row of every edge."""
        return np.repeat(np.arange(self.n_tails), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class Automaton:
    """A finite automaton over arrays; immutable.

    Attributes
    ----------
    alphabet : Alphabet
        The m symbols.
    states : sequence of hashable
        Names of the N states, in the order of their numbers.
    start : hashable
        The start's name: a model's state, or `START`.
    start_head, start_label : int64 arrays, shape (k,)
        Edges of the first step, sorted by label and head.
    indptr : int64 array, shape (N + 1,)
    head, label : int64 arrays, shape (E,)
        Edges e with tail q are ``indptr[q]:indptr[q+1]``, sorted by label and head. No edge occurs
        twice.
    final : bool array, shape (N,)
        Accepting states. The start itself never counts: words have at least one symbol.
    """

    alphabet: Alphabet
    states: Sequence[Symbol]
    start: Symbol
    start_head: IntArray
    start_label: IntArray
    indptr: IntArray
    head: IntArray
    label: IntArray
    final: BoolArray

    def __post_init__(self) -> None:
        for name in ("start_head", "start_label", "indptr", "head", "label", "final"):
            getattr(self, name).setflags(write=False)

    @classmethod
    def of(
        cls,
        *,
        alphabet: Alphabet,
        states: Sequence[Symbol],
        start: Symbol,
        start_edges: tuple[IntArray, IntArray],
        edges: tuple[IntArray, IntArray, IntArray],
        final: BoolArray,
    ) -> Automaton:
        """Build from unsorted edges: start_edges (head, label), edges (tail, head, label)."""
        none = np.zeros(len(start_edges[0]), dtype=np.int64)
        _, start_head, start_label = sort_edges(none, *start_edges, 1)
        indptr, head, label = sort_edges(*edges, len(states))
        return cls(alphabet, states, start, start_head, start_label, indptr, head, label, final)

    @property
    def n_states(self) -> int:
        """N, the number of states without the start."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """E, the number of edges without the start's."""
        return len(self.head)

    @cached_property
    def tail(self) -> IntArray:
        """Tail of every edge, shape (E,)."""
        return np.repeat(np.arange(self.n_states), np.diff(self.indptr))

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether no state (nor the start) has two edges of the same label."""
        same = (np.diff(self.tail) == 0) & (np.diff(self.label) == 0)
        return not same.any() and not (np.diff(self.start_label) == 0).any()

    @cached_property
    def state_label(self) -> IntArray | None:
        """The one label of the edges into each state (a chain's), or None if some state has two.

        States without an edge into them get -1.
        """
        heads = np.concatenate((self.start_head, self.head))
        labels = np.concatenate((self.start_label, self.label))
        of_state = np.full(self.n_states, -1, dtype=np.int64)
        of_state[heads] = labels
        return of_state if bool((of_state[heads] == labels).all()) else None

    @cached_property
    def state_of_symbol(self) -> IntArray | None:
        """The one state that each symbol leads to (-1: none), shape (m,); None if one leads to two.

        It exists for a chain: the word is its state sequence.
        """
        of_state = self.state_label
        if of_state is None:
            return None
        reached = np.flatnonzero(of_state >= 0)
        states = np.full(len(self.alphabet), -1, dtype=np.int64)
        states[of_state[reached]] = reached
        return states if np.count_nonzero(states >= 0) == len(reached) else None

    @cached_property
    def start_edge_into(self) -> IntArray:
        """One of the start's edges into each state (-1: there is none), shape (N,)."""
        edges = np.full(self.n_states, -1)
        edges[self.start_head] = np.arange(len(self.start_head))
        return edges

    @cached_property
    def by_label(self) -> tuple[IntArray, IntArray]:
        """(pointer, edges): the edges that carry label s are ``edges[pointer[s]:pointer[s+1]]``."""
        return pointers(self.label, len(self.alphabet)), np.argsort(self.label, kind="stable")

    @cached_property
    def by_head(self) -> tuple[IntArray, IntArray]:
        """(pointer, edges): the edges into state q are ``edges[pointer[q]:pointer[q+1]]``."""
        return pointers(self.head, self.n_states), np.argsort(self.head, kind="stable")

    @cached_property
    def graph(self) -> nx.MultiDiGraph:
        """The automaton as a frozen networkx graph, to read and draw.

        Nodes are state names with the attributes "initial" and "final"; every edge has a "symbol".
        """
        import networkx as nx

        graph = nx.MultiDiGraph()
        graph.add_node(self.start, initial=True, final=False)
        for state, final in zip(self.states, self.final.tolist(), strict=True):
            graph.add_node(state, initial=state == self.start, final=final)
        # A public start may also be a state, which then has most of the first edges as its own.
        edges = dict.fromkeys(
            (self.start, self.states[head], label)
            for head, label in zip(self.start_head.tolist(), self.start_label.tolist(), strict=True)
        )
        edges |= dict.fromkeys(
            (self.states[tail], self.states[head], label)
            for tail, head, label in zip(
                self.tail.tolist(), self.head.tolist(), self.label.tolist(), strict=True
            )
        )
        for tail, head, label in edges:
            graph.add_edge(tail, head, symbol=self.alphabet[label])
        frozen: nx.MultiDiGraph = nx.freeze(graph)
        return frozen

    def layer(self, i: int, rows: IntArray) -> Layer:
        """Return the edges that read symbol i + 1.

        Parameters
        ----------
        i : int
            At least 0.
        rows : int array
            How many states, from number 0 on, matter after 0, 1, … symbols; entry 0 is not read.
        """
        if i == 0:
            indptr = np.array([0, len(self.start_head)])
            return Layer(0, indptr, self.start_head, self.start_label)
        indptr = self.indptr[: rows[i] + 1]
        return Layer(i, indptr, self.head[: indptr[-1]], self.label[: indptr[-1]])

    def moves(self, state: int | None) -> tuple[IntArray, IntArray]:
        """Return the heads and labels of the edges that leave a state; None is the start."""
        if state is None:
            return self.start_head, self.start_label
        edges = slice(self.indptr[state], self.indptr[state + 1])
        return self.head[edges], self.label[edges]

    def out_edges(self, states: IntArray) -> IntArray:
        """Return the numbers of all edges that leave `states`, in order."""
        return ragged(self.indptr[states], self.indptr[states + 1])

    def in_edges(self, states: IntArray) -> IntArray:
        """Return the numbers of all edges that enter `states`."""
        pointer, edges = self.by_head
        return edges[ragged(pointer[states], pointer[states + 1])]

    def forward_levels(self, steps: int) -> tuple[IntArray, IntArray]:
        """Breadth-first search from the start.

        Returns
        -------
        order : int64 array
            States reached within `steps` steps, in order of first arrival; inside a level by their
            first edge, so that the order depends on the language and not on state names.
        level : int64 array, shape (N,)
            First step (1, 2, …) at which a state is reached; 0 if it is not.
        """
        level = np.zeros(self.n_states, dtype=np.int64)
        reached = []
        frontier = _first_occurrences(self.start_head)
        for step in range(1, steps + 1):
            frontier = frontier[level[frontier] == 0]
            if not frontier.size:
                break
            level[frontier] = step
            reached.append(frontier)
            frontier = _first_occurrences(self.head[self.out_edges(frontier)])
        order = np.concatenate(reached) if reached else np.empty(0, dtype=np.int64)
        return order, level

    def backward_levels(self, states: IntArray, steps: int) -> IntArray:
        """Return the least number of steps from every state into `states`; -1 if above `steps`."""
        distance = np.full(self.n_states, -1, dtype=np.int64)
        frontier = _distinct(states)
        for step in range(steps + 1):
            frontier = frontier[distance[frontier] < 0]
            if not frontier.size:
                break
            distance[frontier] = step
            frontier = _distinct(self.tail[self.in_edges(frontier)])
        return distance

    def restricted(self, order: IntArray) -> Automaton:
        """Return the automaton on the states `order`, renumbered in that order."""
        if len(order) == self.n_states and bool((order == np.arange(self.n_states)).all()):
            return self
        number = np.full(self.n_states, -1, dtype=np.int64)
        number[order] = np.arange(len(order))
        edges = self.out_edges(order)
        edges = edges[number[self.head[edges]] >= 0]
        tail, head, label = number[self.tail[edges]], number[self.head[edges]], self.label[edges]
        starts = number[self.start_head] >= 0
        start_head, start_label = number[self.start_head[starts]], self.start_label[starts]
        states, final = _Selection(self.states, order), self.final[order]
        if not self.is_deterministic:
            # Edges of one tail and label are ordered by head, and heads have new numbers.
            return Automaton.of(
                alphabet=self.alphabet,
                states=states,
                start=self.start,
                start_edges=(start_head, start_label),
                edges=(tail, head, label),
                final=final,
            )
        indptr = pointers(tail, len(order))
        return Automaton(
            self.alphabet, states, self.start, start_head, start_label, indptr, head, label, final
        )


class _Selection(Sequence[Any]):
    """Some members of a sequence, looked up when asked for."""

    __slots__ = ("_indices", "_whole")

    _indices: IntArray
    _whole: Sequence[Any]

    def __init__(self, whole: Sequence[Any], indices: IntArray) -> None:
        if isinstance(whole, _Selection):
            indices = whole._indices[indices]
            whole = whole._whole
        self._whole, self._indices = whole, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._indices[index]
        return (
            self._whole[int(chosen)]
            if np.ndim(chosen) == 0
            else [self._whole[int(i)] for i in chosen]
        )


def _distinct(values: IntArray) -> IntArray:
    """Return the distinct values in order: np.unique without its hash table, which is slower."""
    values = np.sort(values)
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def _first_occurrences(values: IntArray) -> IntArray:
    """Return the distinct values in order of first occurrence."""
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]
