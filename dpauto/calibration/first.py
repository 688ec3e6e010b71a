"""First bounds: every block at once, with nothing known about the symbols around it.

For a block with states a of the word and t of its neighbour, the weights of all words are

    Z_neighbour = F + E(t),    Z_word = F + E(a),

F the weight of all words with every position of the block counted as wrong, and E(x) what the
matches with x add to it. E is a sum of products of non-negative terms over the first match, so
boxes bound it from both sides (Lemma 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.calibration.blocks import Blocks
from dpauto.calibration.boxes import Boxes, Layout
from dpauto.calibration.chain import Chain, Side
from dpauto.calibration.rounding import Discount, FloatArray, down, up
from dpauto.words import IntArray

__all__ = ["FirstBounds"]


class _Terms:
    """What reaches the j-th state of each walk from one side when no position counts as right.

    Relative to the weight of the reference class; for an empty side there is nothing to bound.
    """

    def __init__(
        self, side: Side, layout: Layout | None, references: IntArray, walks: IntArray
    ) -> None:
        from scipy import sparse

        self.side = side
        self.classes = side.of_state[walks]
        self.sums: list[tuple[Any, IntArray]] = []
        self.terms = 1
        if layout is None:
            return
        C = side.n_classes
        for j in range(walks.shape[1]):
            pairs, which = np.unique(references * C + self.classes[:, j], return_inverse=True)
            reference, k = np.divmod(pairs, C)
            reached = side.walks(j)[k]
            rows = np.repeat(np.arange(len(pairs)), np.diff(reached.indptr))
            columns = layout.index(reference[rows], reached.indices.astype(np.int64))
            sums = sparse.csr_matrix((reached.data, (rows, columns)), (len(pairs), layout.size))
            self.sums.append((sums, which))
            self.terms = max(self.terms, int(np.diff(reached.indptr).max(initial=1)))

    def bounds(self, boxes: Boxes, discount: Discount) -> list[tuple[FloatArray, FloatArray]]:
        """Return for every position (lower, upper) bounds, shape (rows,) each."""
        found = []
        for j in range(self.classes.shape[1]):
            factor = discount.power(j)
            if self.sums:
                sums, which = self.sums[j]
                found.append(
                    ((factor * (sums @ boxes.lows))[which], (factor * (sums @ boxes.highs))[which])
                )
            else:
                free = factor * (self.side.walks(j) @ self.side.boundary.astype(float))
                found.append((free[self.classes[:, j]],) * 2)
        return found


class FirstBounds:
    """Bounds on Z_neighbour / Z_word for all blocks of one kind and length.

    Parameters
    ----------
    chain : Chain
    blocks : Blocks
    prefix, suffix : Layout
        How the boxes of either side are numbered.
    """

    def __init__(self, chain: Chain, blocks: Blocks, prefix: Layout, suffix: Layout) -> None:
        self.chain, self.blocks = chain, blocks
        walks = blocks.walks
        before, after = chain.prefix.of_state[walks[:, 0]], chain.suffix.of_state[walks[:, -1]]
        # A role is a walk seen from the classes that the word has around the block. An empty side
        # has the same weights for every reference.
        C, D = chain.prefix.n_classes, chain.suffix.n_classes
        around = blocks.a if blocks.has_prefix else blocks.t
        behind = blocks.a if blocks.has_suffix else blocks.t
        words = (np.arange(len(walks)) * C + before) * D + after
        others = (blocks.t * C + before[around]) * D + after[behind]
        roles, which = np.unique(np.concatenate((words, others)), return_inverse=True)
        self.of_walk, self.of_other = which[: len(walks)], which[len(walks) :]
        rest, after_of = np.divmod(roles, D)
        walk_of, before_of = np.divmod(rest, C)
        self.role_walks = walks[walk_of]
        self.left = _Terms(
            chain.prefix, prefix if blocks.has_prefix else None, before_of, self.role_walks
        )
        self.right = _Terms(
            chain.suffix,
            suffix if blocks.has_suffix else None,
            after_of,
            self.role_walks[:, ::-1],
        )

    @cached_property
    def between(self) -> dict[tuple[int, int], FloatArray]:
        """Number of ways from the j-th to the k-th state of every role's walk."""
        from scipy import sparse

        successors, walks = self.chain.successors, self.role_walks
        step = sparse.csr_matrix(
            (np.ones(len(successors.members)), (successors.rows, successors.members)),
            (self.chain.n_states,) * 2,
        )
        ways, power = {}, step
        for apart in range(1, self.blocks.m):
            for j in range(self.blocks.m - apart):
                ways[j, j + apart] = np.asarray(power[walks[:, j], walks[:, j + apart]]).ravel()
            power = (power @ step).tocsr()
        return ways

    @property
    def roundings(self) -> int:
        """How many roundings one bound takes at most."""
        m = self.blocks.m
        return 2 * (self.left.terms + self.right.terms) + 16 * m * m + 64

    def ratios(
        self, prefix: Boxes, suffix: Boxes, discount: Discount, possible: BoolArray
    ) -> FloatArray:
        """Return an upper bound of Z_neighbour / Z_word for every block; at least 1.

        Parameters
        ----------
        prefix, suffix : Boxes
        discount : Discount
        possible : bool array, shape (R,)
            Blocks that can stand here; the others get 0.

        Raises
        ------
        TooLoose
            If a bound leaves the range of floats.
        """
        left = self.left.bounds(prefix, discount)
        right = self.right.bounds(suffix, discount)[::-1]
        m = self.blocks.m
        # The first and the last position each tell words through a from words through t.
        free = [down(discount.z * left[j][0] * right[j][0], self.roundings) for j in {0, m - 1}]
        low = down(self._matches(left, right, 0, discount), self.roundings)
        high = up(self._matches(left, right, 1, discount), self.roundings)
        a, t = self.of_walk[self.blocks.a[possible]], self.of_other[possible]
        common = reduce(np.maximum, [part[a] + part[t] for part in free])
        ratios = np.zeros(len(self.blocks))
        ratios[possible] = np.maximum(1.0, up((common + high[t]) / (common + low[a]), 6))
        return ratios

    def _matches(
        self,
        left: Sequence[tuple[FloatArray, FloatArray]],
        right: Sequence[tuple[FloatArray, FloatArray]],
        end: int,
        discount: Discount,
    ) -> FloatArray:
        """E(x) of every role, from the lower (end 0) or upper (end 1) bounds."""
        m = self.blocks.m
        onwards: list[FloatArray] = [np.empty(0)] * m
        for j in reversed(range(m)):
            value = right[j][end]
            for k in range(j + 1, m):
                factor = discount.rest * discount.power(k - j - 1)
                value = value + factor * self.between[j, k] * onwards[k]
            onwards[j] = value
        total: FloatArray = discount.rest * np.sum(
            [left[j][end] * onwards[j] for j in range(m)], axis=0
        )
        return total
