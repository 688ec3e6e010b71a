"""Blocks: where two words of a chain can differ at consecutive positions and nowhere else.

Only irreducible blocks are listed, those without a hybrid that switches from one word to the other
inside the block: a reducible one is two shorter blocks, one after the other, and those are counted
already when losses of blocks are added up (Lemma 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpauto.arrays import BoolArray, ragged
from dpauto.calibration.chain import Chain, Neighbours
from dpauto.words import IntArray

__all__ = ["KINDS", "Blocks", "find_blocks"]

#: Where a block stands: with symbols on both sides, at the end, at the start, or as the whole word.
KINDS = ("inner", "end", "start", "whole")


@dataclass(frozen=True, eq=False)
class Blocks:
    """Irreducible blocks of m positions of one kind.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    walks : int array, shape (W, m)
        Sequences of states.
    a, t : int arrays, shape (R,)
        Walks of the word and of its neighbour; their states differ at every position.
    """

    kind: str
    walks: IntArray
    a: IntArray
    t: IntArray

    @property
    def m(self) -> int:
        """Number of positions."""
        return int(self.walks.shape[1])

    @property
    def has_prefix(self) -> bool:
        """Whether symbols stand before the block."""
        return self.kind in {"inner", "end"}

    @property
    def has_suffix(self) -> bool:
        """Whether symbols stand after the block."""
        return self.kind in {"inner", "start"}

    def __len__(self) -> int:
        return len(self.a)


def find_blocks(chain: Chain, longest: int, *, most: int) -> list[list[Blocks] | None]:
    """Return the irreducible blocks of 1 … longest positions.

    Parameters
    ----------
    chain : Chain
    longest : int
        b.
    most : int
        Largest number of pairs of walks to look at for one length.

    Returns
    -------
    list
        Entry m - 1 holds the blocks of m positions by kind, or None where there are too many.
    """
    forwards = _Growth.of(chain.successors, _twins(chain.predecessors, most))
    backwards = _Growth.of(chain.predecessors, _twins(chain.successors, most))
    found: list[list[Blocks] | None] = []
    for m in range(1, longest + 1):
        if m > chain.length:
            found.append([])
            continue
        if m > 1:
            forwards = forwards and forwards.grown(most)
            backwards = backwards and backwards.grown(most)
        if forwards is None or backwards is None:
            found.append(None)
            continue
        blocks = []
        if m + 1 < chain.length:
            blocks.append(forwards.joining(chain.successors).blocks("inner"))
        if m < chain.length:
            blocks.append(forwards.ending(chain.finals).blocks("end"))
            blocks.append(backwards.ending(chain.starts).blocks("start", reverse=True))
        else:
            whole = _whole_words(chain, m, most)
            if whole is None:
                found.append(None)
                continue
            blocks.append(whole)
        found.append([some for some in blocks if len(some)])
    return found


def _twins(around: Neighbours, most: int) -> tuple[IntArray, IntArray] | None:
    """Ordered pairs of different states that share a neighbour; None when there are too many.

    `around` leads from a state to the neighbours in question.
    """
    sharing = around.transposed(around.n_rows)
    if float((sharing.sizes.astype(float) ** 2).sum()) > most:
        return None
    index, first = sharing.expand(np.arange(sharing.n_rows))
    again, second = sharing.expand(index)
    return _distinct(first[again], second, around.n_rows)


def _distinct(first: IntArray, second: IntArray, n: int) -> tuple[IntArray, IntArray]:
    keys = np.unique(first * n + second)
    first, second = np.divmod(keys, n)
    apart = first != second
    return first[apart], second[apart]


class _Pairs(NamedTuple):
    """Pairs of walks: each as a number (its first state and its choices), and its last state."""

    a: IntArray
    t: IntArray
    a_last: IntArray
    t_last: IntArray

    def chosen(self, keep: IntArray) -> _Pairs:
        return _Pairs(*(part[keep] for part in self))


@dataclass(frozen=True, eq=False)
class _Growth:
    """All irreducible pairs of walks of m states that begin at given pairs of states."""

    onwards: Neighbours
    m: int
    pairs: _Pairs

    @classmethod
    def of(cls, onwards: Neighbours, pairs: tuple[IntArray, IntArray] | None) -> _Growth | None:
        return None if pairs is None else cls(onwards, 1, _Pairs(*pairs, *pairs))

    @property
    def choices(self) -> int:
        return max(1, int(self.onwards.sizes.max(initial=1)))

    def grown(self, most: int) -> _Growth | None:
        """Return the pairs one state longer, or None when there are too many."""
        onwards, pairs = self.onwards, self.pairs
        per_pair = onwards.sizes[pairs.a_last] * onwards.sizes[pairs.t_last]
        if per_pair.sum() > most or onwards.n_rows * float(self.choices) ** self.m > 2.0**62:
            return None
        row, a_key, a_next = self._extend(pairs.a, pairs.a_last, np.arange(len(pairs.a)))
        again, t_key, t_next = self._extend(pairs.t[row], pairs.t_last[row], np.arange(len(row)))
        a_key, a_next = a_key[again], a_next[again]
        a_last, t_last = pairs.a_last[row[again]], pairs.t_last[row[again]]
        # A step across would allow a hybrid: the block would be two shorter ones.
        keep = a_next != t_next
        for here, there in ((a_last, t_next), (t_last, a_next)):
            keep[keep] = ~onwards.has(here[keep], there[keep])
        grown = _Pairs(a_key, t_key, a_next, t_next).chosen(np.flatnonzero(keep))
        return _Growth(onwards, self.m + 1, grown)

    def _extend(
        self, keys: IntArray, last: IntArray, rows: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return (row, key, next state) of every walk continued by one state."""
        onwards = self.onwards
        sizes = onwards.sizes[last]
        flat = ragged(onwards.pointer[last], onwards.pointer[last + 1])
        row = np.repeat(rows, sizes)
        choice = flat - np.repeat(onwards.pointer[last], sizes)
        return row, keys[row] * self.choices + choice, onwards.members[flat]

    def joining(self, following: Neighbours) -> _Growth:
        """Return those pairs whose last states can be followed by one state."""
        pairs = self.pairs
        n = following.n_rows
        keys, which = np.unique(pairs.a_last * n + pairs.t_last, return_inverse=True)
        first, second = np.divmod(keys, n)
        index, member = following.expand(first)
        shared = np.zeros(len(keys), dtype=bool)
        shared[index[following.has(second[index], member)]] = True
        return _Growth(self.onwards, self.m, pairs.chosen(np.flatnonzero(shared[which])))

    def ending(self, at: BoolArray) -> _Growth:
        """Return those pairs whose last states are both among the given ones."""
        both = at[self.pairs.a_last] & at[self.pairs.t_last]
        return _Growth(self.onwards, self.m, self.pairs.chosen(np.flatnonzero(both)))

    def blocks(self, kind: str, *, reverse: bool = False) -> Blocks:
        """Return the pairs as blocks; `reverse` when they grew backwards."""
        keys = np.unique(np.concatenate((self.pairs.a, self.pairs.t)))
        walks = np.empty((len(keys), self.m), dtype=np.int64)
        walks[:, 0], rest = np.divmod(keys, self.choices ** (self.m - 1))
        for j in range(1, self.m):
            choice, rest = np.divmod(rest, self.choices ** (self.m - 1 - j))
            walks[:, j] = self.onwards.members[self.onwards.pointer[walks[:, j - 1]] + choice]
        a, t = np.searchsorted(keys, self.pairs.a), np.searchsorted(keys, self.pairs.t)
        return Blocks(kind, walks[:, ::-1] if reverse else walks, a, t)


def _whole_words(chain: Chain, m: int, most: int) -> Blocks | None:
    """Blocks that are whole words, from every pair of starts."""
    starts = np.flatnonzero(chain.starts)
    if len(starts) ** 2 > most:
        return None
    pairs = _distinct(np.repeat(starts, len(starts)), np.tile(starts, len(starts)), chain.n_states)
    growth = _Growth.of(chain.successors, pairs)
    for _ in range(m - 1):
        growth = growth and growth.grown(most)
    return None if growth is None else growth.ending(chain.finals).blocks("whole")
