"""Models in CSV and TSV: edge lists, transition matrices, adjacency matrices and event logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.errors import InvalidFile
from dpauto.formats.csvfile import find_column, headed_rows, number
from dpauto.formats.eventlog import CASE, read_event_rows
from dpauto.formats.files import open_text
from dpauto.formats.options import ModelOptions
from dpauto.formats.steps import Steps, join_links, number_names

if TYPE_CHECKING:
    from dpauto.models import MarkovChain

__all__ = ["read_adjacency", "read_csv", "read_edges", "read_matrix"]

Rows = Iterator[tuple[int, list[str]]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]

_SOURCE = ("source", "u", "from")
_TARGET = ("target", "v", "to")


def read_csv(name: str, options: ModelOptions) -> MarkovChain:
    """Read a CSV model of whichever kind its header tells.

    Columns source and target (or u and v) make an edge list; case and activity an event log; a
    square table of numbers without a header an adjacency matrix; anything else has to be a
    transition matrix.

    Raises
    ------
    InvalidFile
        If the file fits none of them; the row and column are named.
    """
    with open_text(name) as lines:
        header, rows = headed_rows(lines, name)
        if find_column(header, *_SOURCE) is not None or find_column(header, *_TARGET) is not None:
            return _edges(name, header, rows, options)
        if find_column(header, *CASE) is not None:
            return read_event_rows(name, header, rows, options)
        if options.links:
            raise InvalidFile(
                f"{name}: links need an edge list, with columns source and target (or u and v)"
            )
        if all(_is_number(cell) for cell in header):
            return _adjacency(name, header, rows, options)
        first = next(rows, (2, [""]))
        if first[1][0].strip() not in [cell.strip() for cell in header]:
            raise InvalidFile(
                f"{name}: neither an edge list (columns source and target, or u and v) nor a"
                " transition matrix (a header of states, and the state first in each row)"
            )
        return _matrix(name, header, chain([first], rows), options)


def read_edges(name: str, options: ModelOptions) -> MarkovChain:
    """Read an edge list: columns source,target (or u,v) and perhaps probability or weight.

    Without probabilities every step listed is equally likely. With ``options.links`` the rows are
    the states.

    Raises
    ------
    InvalidFile
        If a column is missing, a cell is empty or no number, or probabilities do not sum to 1.
    """
    with open_text(name) as lines:
        return _edges(name, *headed_rows(lines, name), options)


def read_matrix(name: str, options: ModelOptions) -> MarkovChain:
    """Read a transition matrix: a header of states, the first column the state of the row.

    Raises
    ------
    InvalidFile
        If it is not square, a cell is no number, or a row does not sum to 1 (a row of zeros is a
        dead end).
    """
    with open_text(name) as lines:
        return _matrix(name, *headed_rows(lines, name), options)


def read_adjacency(name: str, options: ModelOptions) -> MarkovChain:
    """Read a square table of weights without a header; states are 0, 1, … and rows are normalised.

    Raises
    ------
    InvalidFile
        If it is not square or a cell is no number of at least 0.
    """
    with open_text(name) as lines:
        return _adjacency(name, *headed_rows(lines, name), options)


def _edges(name: str, header: list[str], rows: Rows, options: ModelOptions) -> MarkovChain:
    source, target = find_column(header, *_SOURCE), find_column(header, *_TARGET)
    if source is None or target is None:
        raise InvalidFile(
            f"{name}: an edge list needs the columns source and target (or u and v);"
            f" the header is {','.join(header)}"
        )
    value = find_column(header, "probability", "weight")
    names = None if not options.links else find_column(header, "link", "id", "key")
    wanted = [source, target] + [column for column in (value, names) if column is not None]
    numbers, columns = _columns(name, header, rows, wanted)
    nodes, (tail, head) = number_names(columns[0], columns[1])
    if options.links:
        label = header[names].strip().lower() if names is not None else None
        states = link_names(columns[-1] if label else None, label, numbers, name)
        return Steps(states, *join_links(tail, head), file=name).chain(options.initial)
    steps = Steps(nodes, tail, head, rows=numbers, file=name)
    if value is not None:
        steps.column = header[value].strip()
        steps.weights = steps.column.lower() == "weight"
        steps.values = _numbers(name, numbers, columns[2], steps.column)
    return steps.chain(options.initial)


def _columns(
    name: str, header: list[str], rows: Rows, wanted: list[int]
) -> tuple[list[int], list[list[str]]]:
    """Return the rows' numbers and the cells of some columns, none of them empty."""
    pick = itemgetter(*wanted)
    numbers: list[int] = []
    picked: list[tuple[str, ...]] = []
    for row, cells in rows:
        if len(cells) < len(header):
            cells += [""] * (len(header) - len(cells))
        numbers.append(row)
        picked.append(pick(cells))
    if not picked:
        raise InvalidFile(f"{name}: there is no edge below the header")
    columns = [list(map(str.strip, column)) for column in zip(*picked, strict=True)]
    for position, column in zip(wanted, columns, strict=True):
        if "" in column:
            row = numbers[column.index("")]
            raise InvalidFile(
                f"{name}, row {row}, column {header[position].strip()}: the cell is empty"
            )
    return numbers, columns


def _numbers(name: str, rows: Sequence[int], texts: list[str], column: str) -> FloatArray:
    try:
        return np.array(texts, dtype=float)
    except ValueError:
        # One by one: a cell may be a fraction, and one that is no number has to be named.
        return np.array(
            [
                number(text, file=name, row=row, column=column)
                for row, text in zip(rows, texts, strict=True)
            ]
        )


def link_names(
    texts: Sequence[str] | None, label: str | None, rows: Sequence[int], name: str
) -> list[str]:
    """Return the names of links: their column's, else row numbers from 0.

    A column ``key`` as osmnx writes it counts parallel links and names none; it is passed over.

    Raises
    ------
    InvalidFile
        If two rows have one name in a column ``link`` or ``id``.
    """
    if texts is not None:
        seen: dict[str, int] = {}
        for row, text in zip(rows, texts, strict=True):
            if text in seen and label != "key":
                raise InvalidFile(
                    f"{name}, row {row}, column {label}: the name {text!r} is also that of row"
                    f" {seen[text]}; every link needs its own"
                )
            seen[text] = row
        if len(seen) == len(texts):
            return list(texts)
    return [str(k) for k in range(len(rows))]


def _matrix(name: str, header: list[str], rows: Rows, options: ModelOptions) -> MarkovChain:
    tails, heads, values, numbers = [], [], [], []
    states = [cell.strip() for cell in header[1:]]
    order: list[str] = []
    where: dict[str, int] = {}
    for row, cells in rows:
        if not order and len(cells) == len(header) + 1:
            # As R writes tables: the corner is left out.
            states = [cell.strip() for cell in header]
        if len(cells) != len(states) + 1:
            raise InvalidFile(
                f"{name}, row {row}: {len(cells)} cells where the header has {len(states) + 1}; a"
                " transition matrix has a header of states and the state first in each row"
            )
        state = cells[0].strip()
        if state in where:
            raise InvalidFile(
                f"{name}, row {row}: state {state!r} has a row already, {where[state]}"
            )
        where[state] = row
        order.append(state)
        entries = _row_of_numbers(name, row, cells[1:], states)
        for column in np.flatnonzero(entries).tolist():
            tails.append(state)
            heads.append(column)
            values.append(entries[column])
            numbers.append(row)
    return _square(name, states, order, (tails, heads, values, numbers), options)


def _square(
    name: str, states: list[str], order: list[str], steps: tuple[Any, ...], options: ModelOptions
) -> MarkovChain:
    index = {state: k for k, state in enumerate(states)}
    if len(index) != len(states):
        raise InvalidFile(f"{name}, row 1: a state stands twice in the header")
    unknown = [state for state in order if state not in index]
    if unknown or len(order) != len(states):
        which = f"{unknown[0]!r} is not in the header" if unknown else f"{len(order)} rows"
        raise InvalidFile(
            f"{name}: a transition matrix has one row for each of the {len(states)} states of its"
            f" header; {which}"
        )
    tails, heads, values, numbers = steps
    return Steps(
        states,
        np.array([index[state] for state in tails], dtype=np.int64),
        np.array(heads, dtype=np.int64),
        np.array(values, dtype=float),
        rows=numbers,
        file=name,
    ).chain(options.initial)


def _adjacency(name: str, header: list[str], rows: Rows, options: ModelOptions) -> MarkovChain:
    size = len(header)
    labels = [str(k) for k in range(size)]
    matrix = [_row_of_numbers(name, 1, header, labels)]
    for row, cells in rows:
        if len(cells) != size or len(matrix) == size:
            raise InvalidFile(
                f"{name}, row {row}: a table of numbers without a header must be square, and row 1"
                f" has {size} cells"
            )
        matrix.append(_row_of_numbers(name, row, cells, labels))
    if len(matrix) != size:
        raise InvalidFile(
            f"{name}: {size} columns and {len(matrix)} rows; an adjacency matrix is square"
        )
    dense = np.array(matrix)
    tail, head = np.nonzero(dense)
    steps = Steps(labels, tail, head, dense[tail, head], weights=True, file=name)
    steps.rows = (tail + 1).tolist()
    return steps.chain(options.initial)


def _row_of_numbers(name: str, row: int, cells: list[str], columns: Sequence[str]) -> FloatArray:
    try:
        return np.array(cells, dtype=float)
    except ValueError:
        return np.array(
            [
                number(cell or "0", file=name, row=row, column=column)
                for cell, column in zip(cells, columns, strict=True)
            ]
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
