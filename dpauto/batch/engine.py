"""Blocks of words through one plan: grouped by length, one mechanism for each."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dpauto.batch.choice import MechanismChoice
from dpauto.batch.observed import ObservedModel
from dpauto.errors import EmptyLanguage, InvalidWord, UnknownSymbol
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import Trip, TripSource
from dpauto.randomness import BitSource

if TYPE_CHECKING:
    from dpauto.mechanisms import Mechanism
    from dpauto.words import Word

__all__ = ["TRIP_ERRORS", "UNCERTIFIED", "Block", "Engine", "Result", "TripError", "place_of"]

#: Edges of the automata that are kept compiled.
KEPT_EDGES = 20_000_000

#: Words of a part: as many as a few blocks of the backward pass.
PART_WORDS = 512

#: What is wrong with one trip and not with the others.
TRIP_ERRORS = (EmptyLanguage, InvalidWord, UnknownSymbol)

TripError: TypeAlias = EmptyLanguage | InvalidWord | UnknownSymbol

#: Why a trip is refused under a certificate.
UNCERTIFIED = "the trip is not feasible; a certificate covers feasible words only"

#: The texts of the released word's symbols, or why there is none.
Result: TypeAlias = "list[str] | TripError"


@dataclass(slots=True)
class Block:
    """Words to release, as texts of symbols.

    Attributes
    ----------
    rows : list of int
        Where they come from, for errors and for seeded releases.
    words : list of list of str
    records : list of str or None
        Their ids, where the plan needs them.
    """

    rows: list[int]
    words: list[list[str]]
    records: list[str] | None

    def part(self, indices: Sequence[int]) -> Block:
        """Return some of the words."""
        records = self.records
        return Block(
            [self.rows[k] for k in indices],
            [self.words[k] for k in indices],
            None if records is None else [records[k] for k in indices],
        )

    def lengths(self) -> Iterator[list[int]]:
        """Yield the indices of at most `PART_WORDS` words of one length at a time."""
        by_length: dict[int, list[int]] = {}
        for index, word in enumerate(self.words):
            by_length.setdefault(len(word), []).append(index)
        for indices in by_length.values():
            for first in range(0, len(indices), PART_WORDS):
                yield indices[first : first + PART_WORDS]


class Engine:
    """Compiles what each length needs, and releases blocks.

    Parameters
    ----------
    model : ObservedModel
    choice : MechanismChoice
    bits : BitSource
    by_row : bool
        Whether rows stand in for ids in the random bits.
    """

    def __init__(
        self, model: ObservedModel, choice: MechanismChoice, bits: BitSource, *, by_row: bool
    ) -> None:
        self._model, self._choice, self._bits, self._by_row = model, choice, bits, by_row
        self._mechanisms: OrderedDict[int, Mechanism] = OrderedDict()
        self._texts: SymbolTexts | None = None
        # A cluster's worker may have several threads.
        self._lock = threading.Lock()

    def texts(self, length: int) -> SymbolTexts:
        """Return the texts of the symbols; all languages of a model have one alphabet.

        Raises
        ------
        EmptyLanguage
            If there is no word of `length`, and none was compiled before.
        InvalidModel
            If two symbols have one text.
        """
        if self._texts is None:
            language = self._model.language(length)
            self._texts = SymbolTexts(language.alphabet, name=self._model.name)
        return self._texts

    def mechanism(self, length: int) -> Mechanism:
        """Return the mechanism for words of a length, compiled once.

        Raises
        ------
        EmptyLanguage
            If no word of that length is feasible.
        """
        if length in self._mechanisms:
            self._mechanisms.move_to_end(length)
        else:
            language = self._model.language(length)
            self._mechanisms[length] = self._choice.build(language, self.texts(length))
        return self._mechanisms[length]

    def release(self, block: Block) -> list[Result]:
        """Return the released words of a block, or what is wrong with them, in order."""
        results: list[Result] = [InvalidWord("")] * len(block.words)
        for indices in block.lengths():
            with self._lock:
                released = self._release_length(block.part(indices))
            for index, result in zip(indices, released, strict=True):
                results[index] = result
        return results

    def problems(self, block: Block) -> dict[int, TripError]:
        """Return which words of a block cannot be released, and why, without releasing any."""
        found: dict[int, TripError] = {}
        for indices in block.lengths():
            with self._lock:
                wrong = self._parsed(block.part(indices))[1]
            found.update({indices[k]: error for k, error in wrong.items()})
        return found

    def _parsed(self, part: Block) -> tuple[dict[int, Word], dict[int, TripError]]:
        """Return the words of a part, all of one length, and what is wrong with the others."""
        length, everywhere = len(part.words[0]), range(len(part.words))
        if length == 0:
            empty = InvalidWord("the trip is empty; it needs at least one symbol")
            return {}, dict.fromkeys(everywhere, empty)
        wrong: dict[int, TripError] = {}
        words: dict[int, Word] = {}
        try:
            texts = self.texts(length)
            for k, symbols in enumerate(part.words):
                try:
                    words[k] = texts.parse(symbols)
                except UnknownSymbol as error:
                    wrong[k] = error
            mechanism = self.mechanism(length)
        except EmptyLanguage as error:
            return {}, {k: wrong.get(k, error) for k in everywhere}
        if getattr(mechanism, "certificate", None) is not None:
            for k in [k for k, word in words.items() if word not in mechanism.language]:
                wrong[k] = InvalidWord(UNCERTIFIED)
                del words[k]
        return words, wrong

    def _release_length(self, part: Block) -> list[Result]:
        """Release words that are all of one length."""
        words, wrong = self._parsed(part)
        results: dict[int, Result] = {**wrong}
        if words:
            length = len(part.words[0])
            texts = self.texts(length)
            ids: Sequence[Hashable] | None = part.rows if self._by_row else part.records
            records = None if ids is None else [ids[k] for k in words]
            outputs = self.mechanism(length).release_many(
                words.values(), self._bits, records=records, workers=1
            )
            for k, released in zip(words, outputs, strict=True):
                results[k] = texts.format(released)
            self._forget()
        return [results[k] for k in range(len(part.words))]

    def _forget(self) -> None:
        """Drop the lengths that were used longest ago, beyond what there is room for."""
        room = KEPT_EDGES
        for length in list(reversed(self._mechanisms)):
            language = self._mechanisms[length].language
            room -= 1 if language.is_all_words else language.automaton.n_edges
            if room < 0:
                del self._mechanisms[length]


def place_of(trips: TripSource, trip: Trip) -> str:
    """Return where a trip stands, for errors."""
    column = "" if trips.column is None else f", column {trips.column}"
    return f"{trips.name}, row {trip.row}{column}"
