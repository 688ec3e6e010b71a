"""Proving a bound on the loss at one exponent: all bounds together, the least of them taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from dpauto.calibration.attempt import Attempt, Method, Proof
from dpauto.calibration.blocks import Blocks, find_blocks
from dpauto.calibration.boxes import (
    DENSE_CELLS,
    Boxes,
    DenseLayout,
    Layout,
    NearPairs,
    dense_boxes,
    near_boxes,
    pooled,
)
from dpauto.calibration.chain import Chain, Side, as_chain
from dpauto.calibration.contexts import Candidates
from dpauto.calibration.first import FirstBounds
from dpauto.calibration.losses import flip_loss
from dpauto.calibration.neighbours import possible_distances
from dpauto.calibration.rounding import Discount, TooLoose
from dpauto.language import Language
from dpauto.names import PERMUTE_AND_FLIP
from dpauto.privacy import Privacy

__all__ = ["Budget", "Progress", "Prover"]

Progress: TypeAlias = Callable[[str, float], None]

#: Positions are told apart while boxes of all of them take at most so many numbers.
PLACED_CELLS = 250_000
#: How near a pair of classes must be to be kept in a large chain.
RADIUS = 2
#: Largest chain whose contexts are refined: their matrices are dense.
REFINED_STATES = 200
#: One of many attempts may use this share of the contexts.
QUICK_SHARE = 10


@dataclass(frozen=True)
class Budget:
    """How much work a proof may take.

    Attributes
    ----------
    contexts : int
        Contexts that best-first refinement may evaluate.
    blocks : int
        Pairs of walks to look at for one block length.
    pairs : int
        Pairs of classes to keep on either side of a large chain.
    """

    contexts: int = 40_000
    blocks: int = 20_000_000
    pairs: int = 2_000_000

    @property
    def quick(self) -> int:
        """Contexts for one of many attempts."""
        return self.contexts // QUICK_SHARE


class Prover:
    """Everything about a language and an adjacency that does not depend on the exponent.

    Parameters
    ----------
    language : Language
    privacy : Privacy
    mechanism : {"exponential", "permute-and-flip"}
    budget : Budget
    """

    def __init__(
        self, language: Language, privacy: Privacy, mechanism: str, budget: Budget
    ) -> None:
        self.language, self.privacy, self.budget = language, privacy, budget
        self.mechanism = mechanism
        #: In how many positions adjacent words can differ.
        self.distances = possible_distances(language, min(privacy.adjacency, language.length))
        #: What b amounts to: at least 1, since a language without neighbours is refused.
        self.b = max(self.distances, default=1)
        #: By exponent, logarithms of the first bounds on blocks of chains that are not refined.
        self.first_logs: dict[Fraction, list[Fraction | None]] = {}

    def with_mechanism(self, mechanism: str) -> Prover:
        """Return a prover for another mechanism that shares what has been computed."""
        other = Prover(self.language, self.privacy, mechanism, self.budget)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k != "mechanism"})
        return other

    @cached_property
    def chain(self) -> Chain | None:
        """The language as a chain, if it is one."""
        return None if self.language.is_all_words else as_chain(self.language)

    @cached_property
    def blocks(self) -> list[list[Blocks] | None]:
        """Blocks by length, then by kind."""
        if self.chain is None:
            return [None] * self.b
        return find_blocks(self.chain, self.b, most=self.budget.blocks)

    @cached_property
    def is_dense(self) -> bool:
        """Whether boxes are kept for all pairs of classes."""
        return self.chain is not None and all(
            len(side.members.members) * side.n_classes**2 <= DENSE_CELLS // 10
            and side.n_classes**2 * self.chain.length <= DENSE_CELLS
            for side in (self.chain.prefix, self.chain.suffix)
        )

    @cached_property
    def is_placed(self) -> bool:
        """Whether positions are told apart."""
        if self.chain is None or not self.is_dense:
            return False
        widest = max(self.chain.prefix.n_classes, self.chain.suffix.n_classes)
        return widest**2 * self.chain.length <= PLACED_CELLS

    @cached_property
    def layouts(self) -> tuple[Layout, Layout]:
        """How the boxes of prefixes and of suffixes are numbered."""

        def layout(side: Side) -> Layout:
            if self.is_dense:
                return DenseLayout(side.n_classes)
            return NearPairs(side, RADIUS, most=self.budget.pairs)

        chain = self._chain
        return layout(chain.prefix), layout(chain.suffix)

    @property
    def _chain(self) -> Chain:
        if self.chain is None:
            raise TooLoose
        return self.chain

    @cached_property
    def first_bounds(self) -> list[FirstBounds]:
        """First bounds of all blocks that could be listed."""
        prefix, suffix = self.layouts
        return [
            FirstBounds(self._chain, some, prefix, suffix)
            for kinds in self.blocks
            for some in kinds or ()
        ]

    @property
    def can_deepen(self) -> bool:
        """Whether the chain is small enough for contexts: their matrices are dense."""
        return self.is_dense and self._chain.n_states <= REFINED_STATES

    def boxes(self, discount: Discount, depth: int = 1) -> tuple[list[Boxes], list[Boxes]]:
        """Return the boxes of prefixes and of suffixes, by length or pooled."""
        chain = self._chain

        def of(side: Side, layout: Layout) -> list[Boxes]:
            if isinstance(layout, NearPairs):
                return near_boxes(layout, discount, chain.length - 1)
            found = dense_boxes(side, discount, chain.length - 1, depth=depth)
            return list(found) if self.is_placed else pooled(found)

        return of(chain.prefix, self.layouts[0]), of(chain.suffix, self.layouts[1])

    def candidates(
        self, first: FirstBounds, prefix: list[Boxes], suffix: list[Boxes], discount: Discount
    ) -> Iterator[Candidates]:
        """Yield the first bounds of blocks at each position, or at all inner ones together."""
        chain, blocks = self._chain, first.blocks
        n, m = chain.length, blocks.m
        if blocks.kind == "inner":
            befores = range(1, n - m) if self.is_placed else range(1, 2)
        else:
            befores = range(n - m, n - m + 1) if blocks.has_prefix else range(1)
        for before in befores:
            after = n - m - before
            walks = blocks.walks
            if blocks.kind == "inner" and not self.is_placed:
                alive = np.asarray(chain.ever_alive[walks].all(axis=1))
            else:
                positions = np.arange(before + 1, before + m + 1)
                alive = np.asarray(chain.alive[positions[None, :], walks].all(axis=1))
            if not self.is_placed:
                before, after = min(before, 1), min(after, 1)
            if blocks.kind == "inner" and not self.is_placed:
                after = 1
            left, right = prefix[before], suffix[after]
            known = left.valid[chain.prefix.of_state[walks[:, 0]]]
            known &= right.valid[chain.suffix.of_state[walks[:, -1]]]
            possible = (alive & known)[blocks.a] & alive[blocks.t]
            ratios = first.ratios(left, right, discount, possible)
            yield Candidates(blocks, before, after, ratios)

    # -- one exponent ----------------------------------------------------------------------------

    def prove(
        self,
        exponent: Fraction,
        target: Fraction,
        *,
        contexts: int | None = None,
        patient: bool = True,
    ) -> Proof:
        """Return a bound on the loss at an exponent, stopping once it is at most `target`.

        Parameters
        ----------
        exponent, target : Fraction
        contexts : int, optional
            Take no more than so many of the budget's.
        patient : bool, optional
            Whether to spend them all even if the target seems out of reach.

        Raises
        ------
        EmptyNeighbourhood
            If no two words are adjacent, as far as that shows here.
        """
        nominal = Proof(2 * exponent * self.b, Method.NOMINAL, False)
        if nominal.loss <= target:
            return nominal
        try:
            discount = Discount.of(exponent)
        except TooLoose:
            return nominal
        if self.language.is_all_words:
            return min(nominal, self._on_all_words(discount, target))
        attempt = Attempt(self, discount, target)
        best = min(nominal, attempt.by_extremes())
        if best.loss <= target or self.chain is None:
            return best
        try:
            limit = self.budget.contexts if contexts is None else contexts
            # What overflows is noticed where bounds are moved outwards.
            with np.errstate(over="ignore", invalid="ignore"):
                return min(best, attempt.by_blocks(limit, patient=patient))
        except TooLoose:
            return best

    def _on_all_words(self, discount: Discount, target: Fraction) -> Proof:
        """On all words the total weight is the same for every word."""
        loss = discount.exponent * self.b
        if self.mechanism == PERMUTE_AND_FLIP:
            wrong = len(self.language.alphabet) - 1
            weight = (1 + wrong * Fraction(discount.z)) ** min(self.language.length, 10_000)
            light = float(min(weight, Fraction(2**60))) * (1 - 2.0**-30)
            heavy = float(weight) * (1 + 2.0**-30) if weight < 2**60 else None
            loss += flip_loss(discount, Fraction(0), max(1.0, light), heavy, target - loss)
        return Proof(loss, Method.CLOSED, True)
