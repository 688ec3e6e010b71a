"""Proving a bound on the loss at one exponent: all bounds together, the least of them taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

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
from dpauto.calibration.contexts import Candidates, Refinement
from dpauto.calibration.extremes import extreme_weights
from dpauto.calibration.first import FirstBounds
from dpauto.calibration.losses import flip_loss, log_ratios
from dpauto.calibration.rounding import Discount, TooLoose, log_up
from dpauto.errors import EmptyNeighbourhood
from dpauto.language import Language
from dpauto.names import EXPONENTIAL, PERMUTE_AND_FLIP
from dpauto.privacy import Privacy

__all__ = ["Budget", "Method", "Progress", "Proof", "Prover"]

Progress: TypeAlias = Callable[[str, float], None]

#: Positions are told apart while boxes of all of them take at most so many numbers.
PLACED_CELLS = 250_000
#: How near a pair of classes must be to be kept in a large chain.
RADIUS = 2
#: Largest chain whose contexts are refined: their matrices are dense.
REFINED_STATES = 200
#: Share of the contexts that are tried with windows of one symbol, and the longest windows.
SHALLOW, DEEPEST_WINDOW = 4, 2
#: One of many attempts may use this share of the contexts.
QUICK_SHARE = 10
#: Bisections for the log ratio that permute-and-flip leaves room for.
ROOM_BITS = 12


class Method:
    """Names of the bounds, as certificates state them."""

    NOMINAL = "sensitivity"
    CLOSED = "all words"
    EXTREMES = "extreme weights"
    BLOCKS = "blocks"
    CONTEXTS = "blocks with contexts"


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


class Proof(NamedTuple):
    """A proven bound on the loss.

    Attributes
    ----------
    loss : Fraction
    method : str
    final : bool
        Whether more contexts would not lower the bound.
    """

    loss: Fraction
    method: str
    final: bool


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
        #: Words differ in at most n positions, whatever b is.
        self.b = min(privacy.adjacency, language.length)

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

    def prove(self, exponent: Fraction, target: Fraction, *, contexts: int | None = None) -> Proof:
        """Return a bound on the loss at an exponent, stopping once it is at most `target`.

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
        attempt = _Attempt(self, discount, target)
        best = min(nominal, attempt.by_extremes())
        if best.loss <= target or self.chain is None:
            return best
        try:
            limit = self.budget.contexts if contexts is None else contexts
            # What overflows is noticed where bounds are moved outwards.
            with np.errstate(over="ignore", invalid="ignore"):
                return min(best, attempt.by_blocks(limit))
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


class _Attempt:
    """All bounds at one exponent."""

    def __init__(self, prover: Prover, discount: Discount, target: Fraction) -> None:
        self.prover, self.discount, self.target = prover, discount, target
        self.exponent, self.b = discount.exponent, prover.b

    @cached_property
    def weights(self) -> tuple[float, float] | None:
        """The least and the largest weight of all words around a word, where that is known."""
        return extreme_weights(self.prover.language, self.discount)

    @cached_property
    def log_spread(self) -> Fraction | None:
        """A bound on log(Z_neighbour / Z_word) from the extreme weights."""
        if self.weights is None:
            return None
        lightest, heaviest = self.weights
        return log_up(Fraction(heaviest) / Fraction(lightest))

    def loss(self, totals: Sequence[Fraction | None]) -> Fraction | None:
        """The bound on the loss, from log ratios by distance; None if there is no pair."""
        worst: Fraction | None = None
        for d, total in enumerate(totals, 1):
            if total is None:
                continue
            if self.log_spread is not None:
                total = min(total, self.log_spread)
            bound = self.exponent * d
            if self.prover.mechanism == EXPONENTIAL:
                bound += total
            else:
                light, heavy = self.weights or (1.0, None)
                enough = self.target - bound
                bound += flip_loss(self.discount, total, light, heavy, enough)
            bound = min(bound, 2 * self.exponent * d)
            worst = bound if worst is None else max(worst, bound)
        return worst

    def by_extremes(self) -> Proof:
        """The bound for any automaton."""
        loss = self.loss([self.exponent * d for d in range(1, self.b + 1)])
        return Proof(2 * self.exponent * self.b if loss is None else loss, Method.EXTREMES, False)

    def by_blocks(self, contexts: int) -> Proof:
        """The bound for chains."""
        # Short windows are cheap and mostly enough; long ones are for the full budget.
        shallow = contexts // SHALLOW if self.prover.can_deepen else contexts
        proof, spent = self._refined(shallow, depth=1)
        if proof.loss <= self.target or proof.final or contexts < self.prover.budget.contexts:
            return proof
        if not self.prover.can_deepen:
            return proof
        deeper, _ = self._refined(contexts - spent, depth=DEEPEST_WINDOW)
        return min(proof, deeper)

    def _refined(self, contexts: int, *, depth: int) -> tuple[Proof, int]:
        """A bound by blocks, and the number of contexts it took."""
        search = _Blocks(self.prover, self.discount, depth)
        final = False
        while True:
            logs = search.logs()
            totals = log_ratios(logs, self.exponent)
            if search.evaluated >= contexts or self._is_enough(totals):
                break
            m = None if self._is_refuted(search) else self._critical(search, logs)
            final = m is None
            if m is None:
                break
            search.refine(m)
        loss = self.loss(totals)
        if loss is None:
            raise EmptyNeighbourhood(
                f"adjacency: no two words of the language lie within {self.b} substitutions"
            )
        method = Method.CONTEXTS if search.evaluated else Method.BLOCKS
        return Proof(loss, method, final), search.evaluated

    def _is_enough(self, totals: Sequence[Fraction | None]) -> bool:
        """Whether bounds on log ratios by distance give a loss within the target."""
        return all(
            total is None or (room is not None and total <= room)
            for total, room in zip(totals, self.room, strict=True)
        )

    @cached_property
    def room(self) -> list[Fraction | None]:
        """By distance, the largest log ratio that the target allows; None if it allows none."""
        spare = [self.target - self.exponent * d for d in range(1, self.b + 1)]
        if self.prover.mechanism == EXPONENTIAL:
            return [more if more >= 0 else None for more in spare]
        light, heavy = self.weights or (1.0, None)
        rooms: list[Fraction | None] = []
        for d, more in enumerate(spare, 1):
            low, high = Fraction(0), self.exponent * d
            if more < 0 or flip_loss(self.discount, low, light, heavy, more) > more:
                rooms.append(None)
                continue
            for _ in range(ROOM_BITS):
                middle = (low + high) / 2
                if flip_loss(self.discount, middle, light, heavy, more) <= more:
                    low = middle
                else:
                    high = middle
            rooms.append(low)
        return rooms

    def _is_refuted(self, search: _Blocks) -> bool:
        """Whether a true loss that has been found exceeds the target already."""
        if self.prover.mechanism != EXPONENTIAL:
            return False
        found = ((m, search.true_ratio(m)) for m in range(1, self.b + 1))
        return any(
            ratio > 0 and self.exponent * m + log_up(ratio) > self.target for m, ratio in found
        )

    def _critical(self, search: _Blocks, logs: Sequence[Fraction | None]) -> int | None:
        """The block length to refine: one without which the bound would be lower."""

        def worst(bounds: Sequence[Fraction | None]) -> Fraction:
            totals = log_ratios(bounds, self.exponent)
            return max(
                (self.exponent * d + t for d, t in enumerate(totals, 1) if t is not None),
                default=Fraction(0),
            )

        now, best, chosen = worst(logs), Fraction(-1), None
        for m, log in enumerate(logs, 1):
            if log is None or not search.can_refine(m):
                continue
            without = worst([None if k == m else other for k, other in enumerate(logs, 1)])
            if without < now and log / m > best:
                best, chosen = log / m, m
        return chosen


class _Blocks:
    """Bounds on all blocks at one exponent, refined where contexts are affordable."""

    def __init__(self, prover: Prover, discount: Discount, depth: int) -> None:
        self.prover, self.discount = prover, discount
        prefix, suffix = prover.boxes(discount, depth)
        self.refinement: Refinement | None = None
        chain = prover.chain
        if chain is not None and prover.can_deepen:
            self.refinement = Refinement(
                chain, discount, prefix, suffix, longest=prover.b, pooled=not prover.is_placed
            )
        self.tops = [0.0] * prover.b
        for first in prover.first_bounds:
            if 2 * first.blocks.m + 2 > discount.deepest():
                raise TooLoose
            for found in prover.candidates(first, prefix, suffix, discount):
                m = first.blocks.m
                self.tops[m - 1] = max(self.tops[m - 1], float(found.ratios.max(initial=0.0)))
                if self.refinement is not None:
                    self.refinement.add(found)

    @property
    def evaluated(self) -> int:
        """Contexts evaluated so far."""
        return 0 if self.refinement is None else self.refinement.evaluated

    def ratio(self, m: int) -> float:
        """Bound on Z_neighbour / Z_word over the blocks of m positions; 0 if there is none."""
        return self.tops[m - 1] if self.refinement is None else self.refinement.ratio(m)

    def true_ratio(self, m: int) -> float:
        """A ratio that two words do have; 0 if none has been found."""
        return 0.0 if self.refinement is None else self.refinement.finished[m - 1]

    def can_refine(self, m: int) -> bool:
        """Whether contexts can lower the bound for m positions."""
        listed = self.prover.blocks[m - 1] is not None
        return listed and self.refinement is not None and not self.refinement.is_final(m)

    def refine(self, m: int) -> None:
        """Split the worst contexts."""
        if self.refinement is not None:
            self.refinement.refine(m)

    def logs(self) -> list[Fraction | None]:
        """Logarithms of the bounds by block length; None where there is no block."""
        logs: list[Fraction | None] = []
        for m, kinds in enumerate(self.prover.blocks, 1):
            if kinds is None:
                logs.append(self.discount.exponent * m)
            else:
                ratio = self.ratio(m)
                logs.append(log_up(ratio) if ratio > 0 else None)
        return logs
