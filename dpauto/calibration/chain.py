"""Chains: languages in which every symbol leads to one state, so that words are state sequences.

Where two words of a chain agree, their states agree too, and the weight of all words splits there
into a factor of the prefix and a factor of the suffix. Both factors obey the same recursion, a
`Side`, once forwards and once backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpauto.arrays import BoolArray, ragged
from dpauto.language import Language
from dpauto.words import IntArray

__all__ = ["Chain", "Neighbours", "Side", "as_chain"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A relation between numbered things: row k is ``members[pointer[k]:pointer[k+1]]``, sorted."""

    pointer: IntArray
    members: IntArray

    @classmethod
    def of(cls, rows: IntArray, members: IntArray, n_rows: int) -> Neighbours:
        """Build from pairs (row, member); repeated pairs count once."""
        pairs = np.unique(np.stack((rows, members), axis=1), axis=0)
        pointer = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(pairs[:, 0], minlength=n_rows), out=pointer[1:])
        return cls(pointer, pairs[:, 1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.pointer) - 1

    @cached_property
    def rows(self) -> IntArray:
        """The row of every pair."""
        return np.repeat(np.arange(self.n_rows), self.sizes)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of members of every row."""
        return np.diff(self.pointer)

    def row(self, k: int) -> IntArray:
        """Members of row k."""
        return self.members[self.pointer[k] : self.pointer[k + 1]]

    def expand(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return (index, member) for all members of the given rows, in order."""
        index = np.repeat(np.arange(len(rows)), self.sizes[rows])
        return index, self.members[ragged(self.pointer[rows], self.pointer[rows + 1])]

    def has(self, rows: IntArray, members: IntArray) -> BoolArray:
        """Return whether each (row, member) is a pair of the relation."""
        if not len(self._keys):
            return np.zeros(len(rows), dtype=bool)
        wanted = rows * self._stride + members
        found = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        matches: BoolArray = self._keys[found] == wanted
        return matches

    def transposed(self, n_members: int) -> Neighbours:
        """Return the relation from members to rows."""
        return Neighbours.of(self.members, self.rows, n_members)

    @cached_property
    def _stride(self) -> int:
        return int(self.members.max(initial=0)) + self.n_rows + 1

    @cached_property
    def _keys(self) -> IntArray:
        return self.rows * self._stride + self.members


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a chain's words: prefixes, or suffixes read backwards.

    States with the same states before them are in one class k; what a state q contributes depends
    on the word and on the class of q only. With w the sensitive word's states on this side,

        S_0(k) = boundary(k),
        S_i(k) = sum over q in members(k) of z^[q != w_i] S_{i-1}(class(q)).

    Attributes
    ----------
    of_state : int array, shape (N,)
        Class of every state.
    members : Neighbours
        From classes to the states before (for suffixes: after) the states of the class.
    boundary : bool array, shape (C,)
        Whether the states of the class may be the first (last) of a word.
    allowed : bool array, shape (n + 1, N)
        Row i: states that some word of L has at step i of this side; row 0 is unused.
    """

    of_state: IntArray
    members: Neighbours
    boundary: BoolArray
    allowed: BoolArray

    @classmethod
    def of(cls, before: Neighbours, boundary: BoolArray, allowed: BoolArray) -> Side:
        """Group the states by their neighbours before them and by whether they may come first."""
        numbers: dict[tuple[bool, bytes], int] = {}
        of_state = np.empty(before.n_rows, dtype=np.int64)
        representative: list[int] = []
        for state in range(before.n_rows):
            key = (bool(boundary[state]), before.row(state).tobytes())
            number = numbers.setdefault(key, len(numbers))
            if number == len(representative):
                representative.append(state)
            of_state[state] = number
        chosen = np.array(representative, dtype=np.int64)
        classes, members = before.expand(chosen)
        return cls(
            of_state, Neighbours.of(classes, members, len(chosen)), boundary[chosen], allowed
        )

    @property
    def n_classes(self) -> int:
        """C, the number of classes."""
        return len(self.boundary)

    @cached_property
    def ever_allowed(self) -> BoolArray:
        """States that some word has at some step."""
        return np.asarray(self.allowed.any(axis=0))

    @cached_property
    def counts(self) -> Any:
        """Sparse matrix, entry (k, y): how many members of class k are of class y."""
        from scipy import sparse

        members = self.members
        cells = (members.rows, self.of_state[members.members])
        return sparse.csr_matrix((np.ones(len(members.members)), cells), (self.n_classes,) * 2)

    def walks(self, steps: int) -> Any:
        """Sparse matrix, entry (k, y): number of ways from class y to class k in so many steps."""
        while len(self._walks) <= steps:
            self._walks.append((self.counts @ self._walks[-1]).tocsr())
        return self._walks[steps]

    @cached_property
    def _walks(self) -> list[Any]:
        from scipy import sparse

        return [sparse.identity(self.n_classes, format="csr")]

    @cached_property
    def classes_of(self) -> Neighbours:
        """From a state p to the classes that have it as a member."""
        return self.members.transposed(len(self.of_state))


@dataclass(frozen=True, eq=False)
class Chain:
    """A language of length n whose words are state sequences.

    Attributes
    ----------
    length : int
        n.
    successors, predecessors : Neighbours
        Steps between states.
    starts, finals : bool arrays, shape (N,)
    alive : bool array, shape (n + 1, N)
        Row i: states at position i of some word of L; row 0 is unused.
    prefix, suffix : Side
    """

    length: int
    successors: Neighbours
    predecessors: Neighbours
    starts: BoolArray
    finals: BoolArray
    alive: BoolArray
    prefix: Side
    suffix: Side

    @property
    def n_states(self) -> int:
        """N, the number of states."""
        return len(self.starts)

    @cached_property
    def ever_alive(self) -> BoolArray:
        """States that occur in some word."""
        return np.asarray(self.alive.any(axis=0))


def as_chain(language: Language, *, most_cells: int = 200_000_000) -> Chain | None:
    """Return the language as a chain, or None if its symbols do not determine its states.

    Parameters
    ----------
    language : Language
    most_cells : int, optional
        Give up when length times states is larger.
    """
    a, n = language.automaton, language.length
    labels = a.state_label
    if labels is None or len(np.unique(labels)) != a.n_states or a.n_states * n > most_cells:
        return None
    N = a.n_states
    successors = Neighbours.of(a.tail, a.head, N)
    predecessors = Neighbours.of(a.head, a.tail, N)
    starts = np.zeros(N, dtype=bool)
    starts[a.start_head] = True
    alive = np.zeros((n + 1, N), dtype=bool)
    reached = starts
    for i in range(1, n + 1):
        alive[i] = reached & language.finishing(n - i)
        reached = np.zeros(N, dtype=bool)
        reached[a.head[alive[i][a.tail]]] = True
    backwards = np.concatenate((alive[:1], alive[:0:-1]))
    return Chain(
        length=n,
        successors=successors,
        predecessors=predecessors,
        starts=starts,
        finals=np.asarray(a.final),
        alive=alive,
        prefix=Side.of(predecessors, starts, alive),
        suffix=Side.of(successors, np.asarray(a.final), backwards),
    )
