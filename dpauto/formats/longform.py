"""Tables in long form: a row for each symbol, with the id of its word and its place in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

from dpauto.errors import InvalidFile
from dpauto.formats.csvfile import moment
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import Separator, Trip, TripSource, TripWriter

__all__ = ["WHOLE_CELL", "LongTrips"]

#: A cell of a table in long form is one symbol, spaces and all.
WHOLE_CELL = Separator("\0")


class LongTrips:
    """The words of a table in long form, read in bounded memory: a word's rows stand together.

    Parameters
    ----------
    rows : TripSource
        The table, whose rows hold one symbol each and tell id and position.
    position_column : str
        What to call the column of positions in errors.

    Raises
    ------
    InvalidFile
        While it is read, if an id, a symbol or a position is missing, two rows of a word have one
        position, or they name different subjects.
    """

    def __init__(self, rows: TripSource, position_column: str) -> None:
        self.name, self.column, self.separator = rows.name, rows.column, rows.separator
        self._rows, self._position = rows, position_column

    def __iter__(self) -> Iterator[Trip]:
        word: list[Trip] = []
        for row in self._rows:
            if word and (row.texts is None or row.record != word[0].record):
                yield self._trip(word)
                word = []
            if row.texts is None:
                yield Trip(row.row, None, None, ([row], [0]))
                continue
            if not row.record or len(row.texts) != 1:
                missing = "id" if not row.record else "symbol"
                raise InvalidFile(f"{self.name}, row {row.row}: its {missing} is missing")
            word.append(row)
        if word:
            yield self._trip(word)

    def _trip(self, rows: list[Trip]) -> Trip:
        """Return a word whose frame is its rows and, for each, its place among them."""
        moments = [self._moment(row) for row in rows]
        try:
            order = sorted(range(len(rows)), key=moments.__getitem__)
        except TypeError:
            raise InvalidFile(
                f"{self.name}, row {rows[0].row}, column {self._position}: positions of one word"
                " must be all numbers, or all times with or all without a time zone"
            ) from None
        for one, next_one in pairwise(order):
            if moments[one] == moments[next_one]:
                raise InvalidFile(
                    f"{self.name}, row {rows[max(one, next_one)].row}, column {self._position}:"
                    " another symbol of the word has this position; number them"
                )
        if any(row.subject != rows[0].subject for row in rows):
            raise InvalidFile(
                f"{self.name}, row {rows[0].row}: the rows of the word name different subjects"
            )
        places = [0] * len(rows)
        for place, k in enumerate(order):
            places[k] = place
        texts = [symbol for k in order for symbol in rows[k].texts or ()]
        return Trip(rows[0].row, texts, rows[0].record, (rows, places), rows[0].subject)

    def _moment(self, row: Trip) -> Any:
        """Return a position that can be compared: of a file of text a number or a time."""
        if isinstance(row.position, str):
            return moment(row.position, file=self.name, row=row.row, column=self._position)
        if row.position is None:
            raise InvalidFile(f"{self.name}, row {row.row}, column {self._position}: it is null")
        return row.position

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of rows in their order, each with its released symbol."""
        return _LongWriter(self._rows.writer(out))

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that a cell cannot hold."""
        self._rows.check_symbols(texts)


class _LongWriter:
    def __init__(self, rows: TripWriter) -> None:
        self._rows = rows

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Write the rows of a word."""
        rows, places = trip.frame
        for row, place in zip(rows, places, strict=True):
            self._rows.write(row, None if texts is None else [texts[place]])

    def close(self) -> None:
        """Write what is still held back."""
        self._rows.close()
