"""Boxes: proven bounds on how the weights of a side's classes compare.

A box says, for a reference class r and a class k, between which numbers S_i(k) / S_i(r) lies for
every prefix (suffix) of length i after which the sensitive word goes on with a state of class r
(Lemma 4). Small chains keep all pairs and propagate several symbols at once; large ones keep the
pairs near each other, and one number for each class that is far from the word.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.calibration.chain import Side
from dpauto.calibration.rounding import Discount, FloatArray, down, largest, smallest, up
from dpauto.words import IntArray

__all__ = [
    "Boxes",
    "DenseBoxes",
    "DenseLayout",
    "Layout",
    "NearBoxes",
    "NearPairs",
    "dense_boxes",
    "near_boxes",
    "pooled",
]

#: Most numbers in one array of dense propagation, over all steps.
DENSE_CELLS = 30_000_000
#: Most numbers handled at once.
BLOCK_CELLS = 2_000_000
#: Dense boxes that change by less, relatively, are tried as an invariant.
STEADY = 2.0**-20
#: Lengths whose boxes are kept apart while an invariant is looked for, and how often one is tried,
#: growing by this much where it fails.
SEPARATE = 4
TRIALS = 24
#: Up to this length no invariant is looked for: all lengths take fewer steps, and widen nothing.
ALL_LENGTHS = 50
WIDENING = 2.0**-8


class Boxes(ABC):
    """Bounds on S_i(k) / S_i(r), for one length i or for several together.

    Attributes
    ----------
    valid : bool array, shape (C,)
        Whether the word can go on with a state of class r; other references have no box.
    """

    valid: BoolArray

    @property
    @abstractmethod
    def lows(self) -> FloatArray:
        """Lower bounds of the pairs, in the numbering of the layout."""

    @property
    @abstractmethod
    def highs(self) -> FloatArray:
        """Upper bounds of the pairs, in the numbering of the layout."""


class Layout(Protocol):
    """How pairs of a reference and a class are numbered."""

    @property
    def size(self) -> int:
        """How many numbers there are."""

    def index(self, references: IntArray, classes: IntArray) -> IntArray:
        """Return the number of every pair."""


@dataclass(frozen=True)
class DenseLayout:
    """All pairs of C classes."""

    n_classes: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.n_classes**2

    def index(self, references: IntArray, classes: IntArray) -> IntArray:
        """Return the number of every pair."""
        return references * self.n_classes + classes


@dataclass(frozen=True, eq=False)
class DenseBoxes(Boxes):
    """Boxes for all pairs: ``lo[r, k]`` and ``hi[r, k]``."""

    valid: BoolArray
    lo: FloatArray
    hi: FloatArray

    @property
    def lows(self) -> FloatArray:
        """Lower bounds of all pairs in a row."""
        return self.lo.ravel()

    @property
    def highs(self) -> FloatArray:
        """Upper bounds of all pairs in a row."""
        return self.hi.ravel()

    def joined(self, other: DenseBoxes) -> DenseBoxes:
        """Return boxes that hold wherever these or the others do."""
        mine, theirs = self.valid[:, None], other.valid[:, None]
        low = np.minimum(np.where(mine, self.lo, np.inf), np.where(theirs, other.lo, np.inf))
        high = np.maximum(np.where(mine, self.hi, 0.0), np.where(theirs, other.hi, 0.0))
        valid = self.valid | other.valid
        return DenseBoxes(valid, np.where(valid[:, None], low, 0.0), high)

    def is_close(self, other: DenseBoxes) -> bool:
        """Return whether the boxes hardly differ."""
        return (
            bool((self.valid == other.valid).all())
            and bool(np.allclose(self.lo, other.lo, rtol=STEADY / 4, atol=0))
            and bool(np.allclose(self.hi, other.hi, rtol=STEADY / 4, atol=0))
        )

    def widened(self) -> DenseBoxes:
        """Return slightly larger boxes."""
        apart = ~np.eye(len(self.valid), dtype=bool)
        lo = np.where(apart, self.lo * (1 - STEADY), self.lo)
        return DenseBoxes(self.valid, lo, np.where(apart, self.hi * (1 + STEADY), self.hi))

    def within(self, other: DenseBoxes) -> bool:
        """Return whether these boxes lie inside the others."""
        inside = (other.lo <= self.lo) & (self.hi <= other.hi)
        np.fill_diagonal(inside, val=True)
        return not (self.valid & ~other.valid).any() and bool(inside[self.valid].all())


class _Windows:
    """All windows of so many symbols of the word, with the transfer of weights along each."""

    def __init__(self, side: Side, discount: Discount, depth: int) -> None:
        self.side, self.depth = side, depth
        states = side.classes_of.rows[:, None]
        ends = side.classes_of.members
        for _ in range(depth - 1):
            # One more symbol in front: a member of the class of what is now the first state.
            index, first = side.members.expand(side.of_state[states[:, 0]])
            states = np.concatenate((first[:, None], states[index]), axis=1)
            ends = ends[index]
        self.states, self.ends = states, ends
        self.first = side.of_state[states[:, 0]]
        steps = _dense_steps(side, discount)
        transfer = steps[states[:, 0]]
        for j in range(1, depth):
            transfer = np.matmul(transfer, steps[states[:, j]])
        #: n[w, k, x] is what weight at class x before the window gives to class k behind it.
        self.n = np.ascontiguousarray(transfer.transpose(0, 2, 1))
        self.d = self.n[np.arange(len(ends)), ends][:, None, :]
        self.roundings = depth * (side.n_classes + 4)
        self.most = np.ones(self.n.shape[:2])
        self.least = np.ones(self.n.shape[:2])

    def advance(self, boxes: DenseBoxes, allowed: BoolArray) -> DenseBoxes:
        """Return the boxes `depth` symbols on, from those before; allowed[j] is for symbol j."""
        side = self.side
        fits = boxes.valid[self.first].copy()
        for j in range(self.depth):
            fits &= allowed[j][self.states[:, j]]
        chosen = np.flatnonzero(fits)
        C = side.n_classes
        lo, hi = np.full((C, C), np.inf), np.zeros((C, C))
        block = max(1, BLOCK_CELLS // C**2)
        for part in np.split(chosen, range(block, len(chosen), block)):
            n, d = self.n[part], self.d[part]
            low, high = boxes.lo[self.first[part], None], boxes.hi[self.first[part], None]
            # Boxes change little from one length to the next: start where the last ones ended.
            most = largest(n, d, low, high, start=self.most[part])
            least = smallest(n, d, low, high, start=self.least[part])
            self.most[part], self.least[part] = most, least
            np.maximum.at(hi, self.ends[part], up(most, 2 * self.roundings))
            np.minimum.at(lo, self.ends[part], down(least, 2 * self.roundings))
        valid = np.zeros(C, dtype=bool)
        valid[self.ends[chosen]] = True
        return DenseBoxes(valid, np.where(valid[:, None], lo, 0.0), hi)


def _dense_steps(side: Side, discount: Discount) -> FloatArray:
    """For every state p of the word, the matrix that takes S_{i-1} to S_i when w_i = p."""
    C, N = side.n_classes, len(side.of_state)
    free = np.zeros((C, C))
    np.add.at(free, (side.of_state[side.members.members], side.members.rows), discount.z)
    steps = np.broadcast_to(free, (N, C, C)).copy()
    p, k = side.classes_of.rows, side.classes_of.members
    steps[p, side.of_state[p], k] += discount.rest
    return steps


def dense_boxes(side: Side, discount: Discount, length: int, *, depth: int = 1) -> list[DenseBoxes]:
    """Return the boxes of lengths 0 … length, for all pairs.

    Parameters
    ----------
    side : Side
    discount : Discount
    length : int
    depth : int, optional
        Symbols that one step takes at once, where a budget on the numbers involved allows so many:
        more lose less.

    Raises
    ------
    TooLoose
        If a bound leaves the range of floats.

    Notes
    -----
    Boxes that have settled are widened a little and proven to hold for all lengths at which the
    word may have the same states (Lemma 6).
    """
    C = side.n_classes
    edges = len(side.members.members)
    degree = max(1.0, edges / max(1, C))
    windows: list[_Windows] = []
    start = np.broadcast_to(side.boundary.astype(float), (C, C))
    boxes = [DenseBoxes(side.boundary, start, start)]
    steady: DenseBoxes | None = None
    for i in range(1, length + 1):
        taken = len(windows)
        cost = edges * degree**taken * C**2
        if taken < depth and (taken == 0 or cost * min(length, 30) <= DENSE_CELLS):
            taken += 1
            windows.append(_Windows(side, discount, taken))
        allowed = side.allowed[i - taken + 1 : i + 1]
        same = bool((allowed == allowed[0]).all())
        if steady is not None and same and bool((allowed[0] == side.allowed[i - 1]).all()):
            boxes.append(steady)
            continue
        steady = None
        boxes.append(windows[-1].advance(boxes[i - taken], allowed))
        if same and i > taken and boxes[-1].is_close(boxes[-2]):
            wider = reduce(DenseBoxes.joined, boxes[i - taken + 1 :]).widened()
            if windows[-1].advance(wider, allowed).within(wider):
                steady = wider
    return boxes


class NearPairs:
    """The pairs of classes that a large chain keeps, and how boxes propagate along one symbol.

    Near are pairs of classes whose words can meet within `radius` steps, or that share a member: an
    error in a far pair's bound reaches the pairs of a block only through that many factors z.
    """

    def __init__(self, side: Side, radius: int, *, most: int) -> None:
        self.side = side
        self.allowed = side.ever_allowed
        self.counts = side.counts
        self.references, self.classes = self._near(radius, most)
        self.keys = self.references * side.n_classes + self.classes
        self._prepare()

    @property
    def n_pairs(self) -> int:
        """Number of pairs kept."""
        return len(self.keys)

    @property
    def size(self) -> int:
        """How many numbers there are: a pair's own, or for a far pair that of its class."""
        return self.n_pairs + self.side.n_classes

    def index(self, references: IntArray, classes: IntArray) -> IntArray:
        """Return each pair's number, or n_pairs + class for a far one."""
        wanted = references * self.side.n_classes + classes
        found = np.minimum(np.searchsorted(self.keys, wanted), self.n_pairs - 1)
        return np.where(self.keys[found] == wanted, found, self.n_pairs + classes)

    def _near(self, radius: int, most: int) -> tuple[IntArray, IntArray]:
        from scipy import sparse

        C = self.side.n_classes
        members = self.side.members
        of_class = sparse.csr_matrix(
            (np.ones(len(members.members), bool), (members.rows, members.members)),
            (C, len(self.side.of_state)),
        )
        onwards = (self.counts.T > 0).tocsr()
        near = (sparse.identity(C, dtype=bool, format="csr") + of_class @ of_class.T).tocsr()
        reach = sparse.identity(C, dtype=bool, format="csr")
        for _ in range(radius):
            reach = reach @ onwards
            wider = (near + reach @ reach.T).tocsr()
            if wider.nnz > most:
                break
            near = wider
        near.sort_indices()
        pairs = near.tocoo()
        return pairs.row.astype(np.int64), pairs.col.astype(np.int64)

    def _prepare(self) -> None:
        """Lay out the sums of one step: a row for every pair and every symbol p before it."""
        from scipy import sparse

        side, counts = self.side, self.counts
        mine, theirs = counts[self.references], counts[self.classes]
        shared = mine.minimum(theirs)
        pair, p = side.members.expand(self.references)
        self.p, self.n_rows = p, len(p)
        before = side.of_state[p]
        self.row_starts = np.searchsorted(pair, np.arange(self.n_pairs))
        #: Pairs whose reference has a member at all; others have no rows.
        self.has_rows = side.members.sizes[self.references] > 0

        def laid_out(matrix: Any) -> Any:
            """Give every row the terms of its pair, in the numbering of p's pairs."""
            matrix = matrix.tocsr()
            matrix.eliminate_zeros()
            start, stop = matrix.indptr[pair], matrix.indptr[pair + 1]
            sizes = stop - start
            flat = np.repeat(start - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
            flat = flat + np.arange(int(sizes.sum()))
            columns = self.index(np.repeat(before, sizes), matrix.indices[flat].astype(np.int64))
            indptr = np.concatenate(([0], np.cumsum(sizes)))
            shape = (self.n_rows, self.n_pairs + side.n_classes)
            return sparse.csr_matrix((matrix.data[flat], columns.astype(np.int32), indptr), shape)

        self.shared = laid_out(shared)
        self.only_class, self.only_reference = laid_out(theirs - shared), laid_out(mine - shared)
        self.is_member = side.classes_of.has(p, self.classes[pair])
        self.roundings = 4 * int(side.members.sizes.max(initial=1)) + 24

    @cached_property
    def by_class(self) -> tuple[IntArray, IntArray]:
        """(order, starts): pairs sorted by class."""
        order = np.argsort(self.classes, kind="stable")
        return order, np.searchsorted(self.classes[order], np.arange(self.side.n_classes))


@dataclass(frozen=True, eq=False)
class NearBoxes(Boxes):
    """Boxes for near pairs; for others, upper bounds that ignore the word and lower bounds 0."""

    pairs: NearPairs
    valid: BoolArray
    lo: FloatArray
    hi: FloatArray
    far: FloatArray

    def joined(self, other: NearBoxes) -> NearBoxes:
        """Return boxes that hold wherever these or the others do."""
        mine = self.valid[self.pairs.references]
        theirs = other.valid[self.pairs.references]
        low = np.minimum(np.where(mine, self.lo, np.inf), np.where(theirs, other.lo, np.inf))
        high = np.maximum(np.where(mine, self.hi, 0.0), np.where(theirs, other.hi, 0.0))
        low = np.where(mine | theirs, low, 0.0)
        valid = self.valid | other.valid
        return NearBoxes(self.pairs, valid, low, high, np.maximum(self.far, other.far))

    @cached_property
    def lows(self) -> FloatArray:
        """Lower bounds of near pairs, then 0 for far ones."""
        return np.concatenate((self.lo, np.zeros(len(self.far))))

    @cached_property
    def highs(self) -> FloatArray:
        """Upper bounds of near pairs, then those of far classes."""
        return np.concatenate((self.hi, self.far))

    def enlarged(self, after: NearBoxes, *, give_up: bool) -> NearBoxes:
        """Return boxes around these and others, with some room where the others reach further.

        Lower bounds that keep falling are given up: they belong to classes that die out.
        """
        joined = self.joined(after)
        lower, higher = joined.lo < self.lo, joined.hi > self.hi
        lo = np.where(lower, 0.0 if give_up else joined.lo * (1 - WIDENING), joined.lo)
        hi = np.where(higher, joined.hi * (1 + WIDENING), joined.hi)
        far = np.where(joined.far > self.far, joined.far * (1 + WIDENING), joined.far)
        return NearBoxes(self.pairs, joined.valid, lo, hi, far)

    def within(self, other: NearBoxes) -> bool:
        """Return whether these boxes lie inside the others."""
        known = self.valid[self.pairs.references]
        return (
            not (self.valid & ~other.valid).any()
            and bool((self.far <= other.far).all())
            and bool(((other.lo <= self.lo) & (self.hi <= other.hi))[known].all())
        )

    def advance(self, discount: Discount) -> NearBoxes:
        """Return the boxes of one more symbol (Lemma 5)."""
        pairs, z = self.pairs, discount.z
        side = pairs.side
        fits = pairs.allowed[pairs.p] & self.valid[side.of_state[pairs.p]]
        match = np.where(pairs.is_member, discount.rest, 0.0)
        class_lo, class_hi = z * (pairs.only_class @ self.lows), z * (pairs.only_class @ self.highs)
        ref_lo = z * (pairs.only_reference @ self.lows) + discount.rest
        ref_hi = z * (pairs.only_reference @ self.highs) + discount.rest
        lo, hi = np.full(pairs.n_rows, np.inf), np.zeros(pairs.n_rows)
        for shared in (z * (pairs.shared @ self.lows), z * (pairs.shared @ self.highs)):
            lo = np.minimum(lo, (class_lo + shared + match) / (ref_hi + shared))
            hi = np.maximum(hi, (class_hi + shared + match) / (ref_lo + shared))
        lo, hi = np.where(fits, lo, np.inf), np.where(fits, hi, 0.0)
        low, high = np.zeros(pairs.n_pairs), np.zeros(pairs.n_pairs)
        starts = pairs.row_starts[pairs.has_rows]
        if len(starts):
            low[pairs.has_rows] = np.minimum.reduceat(lo, starts)
            high[pairs.has_rows] = np.maximum.reduceat(hi, starts)
        valid = np.zeros(side.n_classes, dtype=bool)
        p, k = side.classes_of.rows, side.classes_of.members
        valid[k[pairs.allowed[p] & self.valid[side.of_state[p]]]] = True
        lost = ~valid[pairs.references]
        low[lost] = high[lost] = 0.0
        diagonal = (pairs.references == pairs.classes) & ~lost
        high, low = up(high, pairs.roundings), down(low, pairs.roundings)
        low[diagonal] = high[diagonal] = 1.0
        far = up(z * (pairs.counts @ self._everywhere()), pairs.roundings)
        return NearBoxes(pairs, valid, low, high, far)

    def _everywhere(self) -> FloatArray:
        """Upper bounds that hold whatever the reference class is, shape (C,)."""
        order, starts = self.pairs.by_class
        # Every class is near itself, so no group is empty.
        return np.maximum(self.far, np.maximum.reduceat(self.hi[order], starts))


def near_boxes(pairs: NearPairs, discount: Discount, length: int) -> list[Boxes]:
    """Return two entries for near pairs: the boxes of length 0, and boxes for all of 1 … length.

    The word may have any state that it can have anywhere, so one step is the same map F at every
    position, and boxes W that contain those of some length and satisfy F(W) within W hold for all
    longer ones (Lemma 6). The boxes of the first lengths are joined to W.

    Parameters
    ----------
    pairs : NearPairs
    discount : Discount
    length : int

    Raises
    ------
    TooLoose
        If a bound leaves the range of floats.
    """
    side = pairs.side
    first = side.boundary.astype(float)
    weight = first[pairs.classes] * first[pairs.references]
    start = boxes = NearBoxes(pairs, side.boundary, weight, weight, first)
    if length == 0:
        return [start]
    boxes = joined = boxes.advance(discount)
    for _ in range(2, min(length, SEPARATE) + 1):
        boxes = boxes.advance(discount)
        joined = joined.joined(boxes)
    if length > max(SEPARATE, ALL_LENGTHS):
        found = _invariant(boxes, discount)
        if found is not None:
            return [start, joined.joined(found)]
    for _ in range(SEPARATE, length):
        boxes = boxes.advance(discount)
        joined = joined.joined(boxes)
    return [start, joined]


def _invariant(boxes: NearBoxes, discount: Discount) -> NearBoxes | None:
    """Return boxes W around the given ones with F(W) within W, or None if none is found soon."""
    for trial in range(TRIALS):
        after = boxes.advance(discount)
        if after.within(boxes):
            return boxes
        boxes = boxes.enlarged(after, give_up=trial > TRIALS // 3)
    return None


def pooled(boxes: list[DenseBoxes]) -> list[Boxes]:
    """Return two entries: the boxes of length 0, and boxes that hold for all other lengths."""
    return [boxes[0], *([reduce(DenseBoxes.joined, boxes[1:])] if boxes[1:] else [])]
