"""What the two offline mechanisms share: weights exp(-a c) on feasible words, and proposals."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.errors import InvalidArgument, InvalidWord
from dpauto.language import Language
from dpauto.mechanisms.base import Job, Mechanism
from dpauto.mechanisms.race import Proposals, Race, run
from dpauto.passes import (
    BallLayers,
    Corridor,
    CorridorBalls,
    CorridorFloats,
    FloatLayers,
    FloatPass,
    Nearest,
    NearestWords,
    Undecided,
    Weights,
    draw_outside,
    radius_for,
    words_themselves,
)
from dpauto.passes.all_words import AllWords, AllWordsTable
from dpauto.privacy import Epsilon
from dpauto.randomness import Tape, encode
from dpauto.words import Costs, IntArray, Symbol

if TYPE_CHECKING:
    from dpauto.calibration import Certificate
    from dpauto.laws import ErrorLaw

__all__ = ["Offline"]

#: A block of words in one pass: wide enough for the products, small enough for the caches.
BLOCK_WORDS = 128
BLOCK_BYTES = 2**27
#: Below so many words a step of all costs more than a step of each.
NARROW_BLOCK = 12
#: Why a word is refused under a certificate.
UNCERTIFIED = "must be feasible when a certificate is used: its proof covers no other words"


class Offline(Mechanism):
    """A mechanism that weighs every feasible word v by exp(-a c(w, v))."""

    costs: Costs | None
    certificate: Certificate | None

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Epsilon,
        adjacency: int = 1,
        costs: Any = None,
        certificate: Certificate | None = None,
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)
        if costs is None or isinstance(costs, Costs):
            self.costs = costs
        else:
            self.costs = Costs(costs, language.alphabet)
        if self.costs is not None and self.costs.alphabet != language.alphabet:
            raise InvalidArgument("costs must be over the language's alphabet")
        if self.costs is not None and int(self.costs.matrix.max()) * language.length >= 2**60:
            raise InvalidArgument(
                "costs are too large: numerators over their common denominator, times the length of"
                " a word, must stay below 2**60"
            )
        if certificate is not None:
            if costs is not None:
                raise InvalidArgument(
                    "certificate holds for the Hamming distance only: leave costs out"
                )
            if not hasattr(certificate, "verify_for"):
                raise InvalidArgument(
                    "certificate must be a Certificate, for example Certificate.load(path)"
                )
            certificate.verify_for(language, self.privacy, self.name)
        self.certificate = certificate

    @property
    def exponent(self) -> Fraction:
        """a: a word of cost c weighs exp(-a c); epsilon/(2b) per error, or the certificate's."""
        if self.certificate is not None:
            return self.certificate.exponent
        if self.costs is not None:
            return self.privacy.exponent / self.costs.spread
        return self.privacy.exponent

    def privacy_loss(self, distance: int) -> Fraction:
        """Return the guaranteed bound on the loss between words so many substitutions apart.

        Parameters
        ----------
        distance : int
            At least 0.

        Returns
        -------
        Fraction
            epsilon * distance / b, since the utility is linear in the substitutions. With a
            certificate: its loss up to b substitutions (for feasible words), and twice the exponent
            per substitution beyond.

        Raises
        ------
        InvalidArgument
            If `distance` is negative or not whole.
        """
        distance = min(self._parse_distance(distance), self.language.length)
        if self.certificate is not None:
            general = 2 * self.exponent * distance
            within = 0 < distance <= self.privacy.adjacency
            return min(general, Fraction(self.certificate.loss)) if within else general
        return self.privacy.epsilon * distance / self.privacy.adjacency

    def error_law(self, w: Iterable[Symbol]) -> ErrorLaw:
        """Return the exact law of the Hamming distance between `w` and its release.

        It depends on `w`: plan with public words, and do not publish the law of a sensitive one.

        Parameters
        ----------
        w : iterable of hashable
            A word of the language's length; it need not be feasible.

        Returns
        -------
        ErrorLaw
            Under `costs`, mean and variance are those of the cost.

        Raises
        ------
        InvalidWord, UnknownSymbol
            If `w` is not a word over the alphabet.
        StateLimitExceeded
            If costs take too many different totals.
        """
        from dpauto.laws import error_law

        word = self.language.encode(w)
        return error_law(self.language, word, self.exponent, self.name, costs=self.costs)

    # -- proposals --------------------------------------------------------------------------------

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.language.automaton, self.language.rows, self.exponent, self.costs)

    @cached_property
    def _table(self) -> AllWordsTable:
        return AllWordsTable(len(self.language.alphabet), self.language.length, self.exponent)

    @cached_property
    def _radius(self) -> int | None:
        """How wide a corridor should be, from public quantities; None: pass over everything."""
        return radius_for(self._weights, self.language.length)

    def _encoded(self, ws: Iterable[Iterable[Symbol]]) -> list[IntArray]:
        words = super()._encoded(ws)
        if self.certificate is not None and not self.language.is_all_words:
            for row, word in enumerate(words, 1):
                if self.language.run(word) is None:
                    raise InvalidWord(f"ws: word {row} {UNCERTIFIED}")
        return words

    def _runs(self, words: IntArray) -> list[IntArray | None]:
        """Accepting runs of words, shape (B, n); None where a word is not feasible."""
        runs = self.language.runs(words)
        if self.certificate is not None and any(run is None for run in runs):
            raise InvalidWord(f"w {UNCERTIFIED}")
        return runs

    def _nearest(self, words: IntArray) -> list[Nearest]:
        """What is nearest to each of some words, shape (B, n)."""
        runs = dict(enumerate(self._runs(words))) if self._weights.distinguishes else {}
        feasible = [b for b, run in runs.items() if run is not None]
        found: dict[int, Nearest] = {}
        if feasible:
            known = np.stack([run for run in runs.values() if run is not None])
            themselves = words_themselves(self._weights, words[feasible], known)
            found.update(zip(feasible, themselves, strict=True))
        return [
            found[b] if b in found else NearestWords(self._weights, word)
            for b, word in enumerate(words)
        ]

    @property
    def _closed_form(self) -> bool:
        return self.language.is_all_words and self.costs is None

    @property
    def _effort(self) -> int:
        if self._closed_form:
            return super()._effort
        return self.language.length * (200 + self.language.automaton.n_edges)

    def _release_all(self, jobs: Sequence[Job]) -> list[IntArray]:
        """Release in blocks: one sparse product serves all words of a block."""
        if self._closed_form or self.costs is not None or self._radius is not None:
            return super()._release_all(jobs)
        states = self.language.automaton.n_states
        width = min(BLOCK_WORDS, max(1, BLOCK_BYTES // (8 * states * self.language.length)))
        released = []
        for first in range(0, len(jobs), width):
            block = jobs[first : first + width]
            alone = len(block) < NARROW_BLOCK
            released += super()._release_all(block) if alone else self._release_block(block)
        return released

    def _release_block(self, jobs: Sequence[Job]) -> list[IntArray]:
        """Race all words of a block side by side, so that their walks go in step."""
        words = np.stack([word for word, _ in jobs])
        block = FloatPass(self._weights, words, self._nearest(words))
        tapes = [Tape(seed) for _, seed in jobs]
        released: list[IntArray | None] = [None] * len(jobs)
        with self._precision(0):
            layers = [FloatLayers(block, b) for b in range(len(jobs))]
            races = [self._race(one, tape) for one, tape in zip(layers, tapes, strict=True)]
            wanted: dict[int, IntArray | None] = dict.fromkeys(range(len(jobs)))
            while wanted:
                asking = []
                for b, word in wanted.items():
                    try:
                        races[b].send(word)
                        asking.append(b)
                    except StopIteration as end:
                        released[b] = end.value
                    except Undecided:
                        pass
                drawn = draw_outside([layers[b] for b in asking], [tapes[b] for b in asking])
                wanted = {
                    b: word for b, word in zip(asking, drawn, strict=True) if word is not None
                }
        block.close()
        return [
            self._release(words[b], tapes[b], first=1) if word is None else word
            for b, word in enumerate(released)
        ]

    def _proposals(self, word: IntArray, attempt: int) -> Proposals:
        if self._closed_form:
            return AllWords(self._table, word)
        words = word[np.newaxis]
        run = self._runs(words)[0] if self._radius is not None else None
        if run is not None and self._radius is not None:
            corridor = Corridor(self._weights, word, run, self._radius)
            if 2 * len(corridor.states) < self.language.automaton.n_states:
                # A corridor that cannot be bounded in floats fails alike at every attempt.
                with suppress(OverflowError):
                    return CorridorBalls(corridor) if attempt else CorridorFloats(corridor)
        nearest = self._nearest(words)
        if attempt:
            return BallLayers(self._weights, word, nearest[0])
        return FloatLayers(FloatPass(self._weights, words, nearest))

    def _attempt(self, word: IntArray, tape: Tape, attempt: int) -> IntArray:
        proposals = self._proposals(word, attempt)
        try:
            return run(self._race(proposals, tape), proposals, tape)
        finally:
            proposals.close()

    @abstractmethod
    def _race(self, proposals: Proposals, tape: Tape) -> Race:
        """Start the race that turns proposals into a release."""

    def _extra_context(self) -> bytes:
        parts: list[bytes | int] = []
        if self.costs is not None:
            parts += [self.costs.denominator, hashlib.sha256(self.costs.matrix.tobytes()).digest()]
        if self.certificate is not None:
            parts += [self.exponent.numerator, self.exponent.denominator]
        return encode(*parts)

    def __getstate__(self) -> dict[str, Any]:
        return {
            k: v for k, v in self.__dict__.items() if k not in ("_weights", "_table", "_radius")
        }
