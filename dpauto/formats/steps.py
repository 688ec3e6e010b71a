"""Markov chains from lists of steps, the common end of many readers; arrays throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arrays import ragged
from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.symbols import find_symbol, text_of
from dpauto.words import IntArray, Symbol

if TYPE_CHECKING:
    from dpauto.models import MarkovChain

__all__ = ["Steps", "join_links", "number_names"]


def number_names(*columns: Sequence[str]) -> tuple[list[str], list[IntArray]]:
    """Number the names in some columns by first appearance, row by row.

    Returns
    -------
    names : list of str
    numbers : list of int64 arrays
        One for each column.
    """
    names = dict.fromkeys(chain.from_iterable(zip(*columns, strict=True)))
    number = {name: k for k, name in enumerate(names)}
    numbers = [
        np.fromiter(map(number.__getitem__, column), dtype=np.int64, count=len(column))
        for column in columns
    ]
    return list(number), numbers


@dataclass
class Steps:
    """Steps between numbered states, as a file lists them.

    Attributes
    ----------
    states : sequence of hashable
    tail, head : int64 arrays, shape (steps,)
    values : float64 array, shape (steps,), optional
        Probabilities or weights; without them every step of a state is equally likely.
    weights : bool
        Whether `values` are weights, which are divided by their state's sum.
    rows : sequence of int
        Where each step stands in the file.
    file : str
        Its name, for errors.
    column : str or None
        The values' column, or None where every state has its own.
    """

    states: Sequence[Symbol]
    tail: IntArray
    head: IntArray
    values: np.ndarray[Any, np.dtype[np.float64]] | None = None
    weights: bool = False
    rows: Sequence[int] = field(default=())
    file: str = "model"
    column: str | None = None

    def chain(self, initial: str | None) -> MarkovChain:
        """Return the Markov chain; parallel steps are one step, and their probabilities add up.

        Parameters
        ----------
        initial : str or None
            Text of the public start state, or None: any state may start.

        Raises
        ------
        InvalidFile
            If a value is negative or not finite, or a state's probabilities do not sum to 1.
        InvalidModel
            If `initial` is no state.
        """
        from scipy.sparse import csr_array

        from dpauto.models import MarkovChain

        size = len(self.states)
        if size == 0:
            raise InvalidFile(f"{self.file}: there is no state")
        values = np.ones(len(self.tail)) if self.values is None else self.values
        self._check_values(values)
        # Built from triplets, so that repeated steps are added up.
        matrix = csr_array((values, (self.tail, self.head)), shape=(size, size))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if self.values is None:
            matrix.data[:] = 1.0
        sums = np.asarray(matrix.sum(axis=1)).ravel()
        if self.values is None or self.weights:
            with np.errstate(divide="ignore"):
                matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
        else:
            self._check_sums(sums)
        start = None
        if initial is not None:
            try:
                start = find_symbol(self.states, initial, name="initial")
            except InvalidModel as error:
                raise InvalidModel(f"{self.file}: {error}") from None
        return MarkovChain.from_matrix(matrix, states=self.states, initial=start)

    def _check_values(self, values: Any) -> None:
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if bad.size:
            first = int(bad[0])
            what = "is negative" if values[first] < 0 else "is not a finite number"
            raise InvalidFile(
                f"{self._place(first)}: {values[first]:g} {what};"
                f" a {'weight' if self.weights else 'probability'} must be at least 0"
            )

    def _check_sums(self, sums: Any) -> None:
        from dpauto.models import TOLERANCE

        has_steps = np.zeros(len(sums), dtype=bool)
        has_steps[self.tail] = True
        bad = np.flatnonzero(has_steps & (np.abs(sums - 1) > TOLERANCE))
        if bad.size:
            state = int(bad[0])
            first = int(np.flatnonzero(self.tail == state)[0])
            raise InvalidFile(
                f"{self._place(first, whole_row=True)}: the probabilities from state"
                f" {text_of(self.states[state])!r} sum to {sums[state]:.12g}, not to 1"
            )

    def _place(self, step: int, *, whole_row: bool = False) -> str:
        place = self.file
        if len(self.rows):
            place += f", row {self.rows[step]}"
        if self.column is not None:
            place += f", column {self.column}"
        elif not whole_row:
            place += f", column {text_of(self.states[self.head[step]])}"
        return place


def join_links(tail: IntArray, head: IntArray) -> tuple[IntArray, IntArray]:
    """Return the steps between links: i to j exactly where i ends at the node where j begins.

    Parameters
    ----------
    tail, head : int64 arrays, shape (links,)
        Numbers of the nodes where each link begins and ends.

    Returns
    -------
    tail, head : int64 arrays, shape (steps,)
        Numbers of links.

    Examples
    --------
    >>> join_links(np.array([0, 1, 1]), np.array([1, 0, 2]))
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    order = np.argsort(tail, kind="stable")
    starts = np.searchsorted(tail[order], head, side="left")
    stops = np.searchsorted(tail[order], head, side="right")
    return np.repeat(np.arange(len(tail)), stops - starts), order[ragged(starts, stops)]
