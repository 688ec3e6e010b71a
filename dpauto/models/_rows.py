"""Rows of transition probabilities: read, checked and sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpauto.arguments import require_graph, shown
from dpauto.arrays import pointers
from dpauto.errors import InvalidModel
from dpauto.models._parse import (
    entries,
    parse_attribute,
    parse_names,
    state_number,
)
from dpauto.words import Alphabet, IntArray

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "TOLERANCE",
    "FloatArray",
    "checked_rows",
    "graph_entries",
    "matrix_entries",
    "parse_probability",
    "parse_row",
    "sum_fault",
]

FloatArray: TypeAlias = NDArray[np.float64]

#: How far from 1 the probabilities of a row may sum.
TOLERANCE = 1e-9


def parse_probability(value: Any, *, place: str) -> float:
    """Return a probability as a float.

    Raises
    ------
    InvalidModel
        If it is not a finite number of at least 0.
    """
    if not isinstance(value, str | bool):
        try:
            probability = float(value)
        except (TypeError, ValueError, OverflowError):
            probability = float("nan")
        if 0 <= probability < float("inf"):
            return probability
    raise InvalidModel(f"{place} must be a probability from 0 to 1, not {shown(value)}")


def parse_row(row: Any, states: Alphabet, *, place: str) -> Iterator[tuple[int, float]]:
    """Yield (state number, probability) for a ``{state: probability}``.

    Raises
    ------
    InvalidModel
        If it is no mapping, or a state or a probability in it is wrong.
    """
    for state, value in entries(row, place=place, shape="{state: probability}"):
        number = state_number(state, states, place=place)
        yield number, parse_probability(value, place=f"{place}[{shown(state)}]")


def sum_fault(total: float) -> str:
    """Return what to say about probabilities that do not sum to 1."""
    return f"sum to {total!r}, not to 1 within {TOLERANCE}; divide them by their sum"


def matrix_entries(matrix: Any) -> tuple[int, tuple[IntArray, IntArray, FloatArray]]:
    """Return the size of a square matrix and (rows, columns, values) of its entries.

    Raises
    ------
    InvalidModel
        If it is not a non-empty square matrix of real numbers.
    """
    # Asking for the method instead of the type spares the import of SciPy.
    sparse = hasattr(matrix, "tocoo")
    if not sparse:
        try:
            matrix = np.asarray(matrix)
        except ValueError:
            matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise InvalidModel(
            f"matrix must be square, one row and one column for each state, not of shape"
            f" {tuple(matrix.shape)}"
        )
    if matrix.dtype.kind not in "biuf":
        raise InvalidModel(f"matrix must hold real numbers, not {matrix.dtype}")
    if sparse:
        coo = matrix.tocoo()
        row, column, value = coo.row, coo.col, coo.data
    else:
        row, column = np.nonzero(matrix)
        value = matrix[row, column]
    return matrix.shape[0], (
        row.astype(np.int64),
        column.astype(np.int64),
        value.astype(np.float64),
    )


def graph_entries(
    graph: nx.Graph, probability: str | None
) -> tuple[Alphabet, tuple[IntArray, IntArray, FloatArray]]:
    """Return the nodes of a graph and (tails, heads, probabilities) of its steps.

    See `MarkovChain.from_networkx`.

    Raises
    ------
    InvalidArgument
        If `graph` is no graph, or `probability` cannot name an attribute.
    InvalidModel
        If an edge has no probability.
    """
    graph = require_graph(graph, wanted="such as nx.DiGraph")
    probability = parse_attribute(probability, argument="probability")
    names = parse_names(list(graph.nodes), argument="graph", noun="node")
    tails, heads, weights = [], [], []
    for tail, (node, successors) in enumerate(graph.adjacency()):
        for successor, data in successors.items():
            tails.append(tail)
            heads.append(state_number(successor, names, place="graph"))
            if probability is None:
                weights.append(1 / len(successors))
                continue
            parallel = data.values() if graph.is_multigraph() else (data,)
            place = f"graph: the edge from {shown(node)} to {shown(successor)}"
            weights.append(_edge_probability(parallel, probability, place))
    return names, (np.array(tails, int), np.array(heads, int), np.array(weights, float))


def _edge_probability(parallel: Iterable[Mapping[str, Any]], attribute: str, place: str) -> float:
    """Return the sum of an attribute over parallel edges."""
    total = 0.0
    for data in parallel:
        if attribute not in data:
            raise InvalidModel(
                f"{place} has no attribute {attribute!r}; leave out probability=… to make every"
                " successor equally likely"
            )
        value = data[attribute]
        if isinstance(value, str | bool):
            raise InvalidModel(f"{place}: its {attribute!r} must be a number, not {shown(value)}")
        try:
            total += float(value)
        except (TypeError, ValueError):
            raise InvalidModel(f"{place}: its {attribute!r} must be a number") from None
    return total


def checked_rows(
    states: Alphabet, tail: IntArray, head: IntArray, value: FloatArray, *, argument: str
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return (indptr, head, probability), sorted by tail and head, without zeros.

    Values of one pair are added, as sparse matrices do.

    Raises
    ------
    InvalidModel
        If a value is negative or not finite, or a row does not sum to 1; the message names it.
    """
    size = len(states)
    bad = np.flatnonzero(~((value >= 0) & (value < np.inf)))
    if bad.size:
        first = bad[0]
        raise InvalidModel(
            f"{argument}: the probability from state {shown(states[int(tail[first])])} to state"
            f" {shown(states[int(head[first])])} must be from 0 to 1, not {value[first]}"
        )
    kept = value > 0
    tail, head, value = tail[kept], head[kept], value[kept]
    pair = tail * size + head
    if not bool((np.diff(pair) > 0).all()):
        pair, place = np.unique(pair, return_inverse=True)
        value = np.asarray(np.bincount(place, weights=value), dtype=np.float64)
        tail, head = np.divmod(pair, size)
    _check_sums(states, tail, value, argument)
    return pointers(tail, size), head, value


def _check_sums(states: Alphabet, tail: IntArray, value: FloatArray, argument: str) -> None:
    """Raise InvalidModel, naming the first, unless positive values sum to 1 for every tail."""
    total = np.bincount(tail, weights=value, minlength=len(states))
    wrong = np.flatnonzero((total > 0) & (np.abs(total - 1) > TOLERANCE))
    if wrong.size:
        row = int(wrong[0])
        numbered = "" if states[row] == row else f" (row {row}, counted from 0)"
        raise InvalidModel(
            f"{argument}: the probabilities from state {shown(states[row])}{numbered}"
            f" {sum_fault(float(total[row]))}"
        )
