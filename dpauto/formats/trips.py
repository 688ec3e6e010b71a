"""Trips in text, CSV and TSV: read one by one, written back with everything else untouched.

A `TripSource` yields `Trip` values in the order of the file and gives the writer that puts released
words into the same frame: comments, prefixes and other columns come through as they were. Nothing
but the current rows is held in memory.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any, BinaryIO, Protocol

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.columns import require_column
from dpauto.formats.csvfile import delimiter_of
from dpauto.formats.symbols import SymbolTexts

__all__ = ["CsvTrips", "Separator", "TextTrips", "Trip", "TripSource", "TripWriter"]

#: What the first lines of a UCI sequence file say before the sequences begin.
_SEQUENCES = "sequences:"


@dataclass(slots=True)
class Trip:
    """One row of a file.

    Attributes
    ----------
    row : int
        From 1, a header included.
    texts : list of str or None
        Texts of the word's symbols, or None for a row that is copied through.
    record : str or None
        What identifies the row, where an id was asked for.
    frame : object
        What the writer needs to put a word in this one's place.
    subject : str or None
        The person whose trip it is, where that was asked for.
    position : object
        In long form, where a row is a symbol: its place in the word.
    """

    row: int
    texts: list[str] | None
    record: str | None
    frame: Any
    subject: str | None = None
    position: Any = None


class TripWriter(Protocol):
    """Writes rows in the form they were read in."""

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Write a row, with the released texts in place of its word (None: as it is)."""

    def close(self) -> None:
        """Write what is still held back."""


class TripSource(Protocol):
    """Rows with words, from one file; `column` names that of the words in tables."""

    name: str
    separator: Separator

    @property
    def column(self) -> str | None:
        """The column of the words, in tables."""

    def __iter__(self) -> Iterator[Trip]: ...

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of the same form."""

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Raise InvalidModel when a symbol could not be read back from this form."""


class Separator:
    """How a word's symbols are told apart in text.

    Parameters
    ----------
    mark : str or None
        None for white space, "" where every character is a symbol, otherwise the text between two
        symbols.

    Examples
    --------
    >>> Separator(None).split(" a  bc"), Separator("").split("abc"), Separator(";").split("a b; c")
    (['a', 'bc'], ['a', 'b', 'c'], ['a b', 'c'])
    """

    def __init__(self, mark: str | None) -> None:
        self.mark = mark

    def split(self, text: str) -> list[str]:
        """Return the symbols' texts."""
        if self.mark is None:
            return text.split()
        text = text.strip()
        if not text:
            return []
        return list(text) if self.mark == "" else [part.strip() for part in text.split(self.mark)]

    def join(self, texts: Sequence[str]) -> str:
        """Return the text of a word."""
        return (" " if self.mark is None else self.mark).join(texts)

    def check(self, texts: SymbolTexts) -> None:
        """Refuse a model whose symbols could not be read back.

        Raises
        ------
        InvalidModel
            If a symbol's text is split, or lost at its ends.
        """
        for text in texts:
            if self.split(text) != [text]:
                kind = "has more than one character" if self.mark == "" else "holds the separator"
                raise InvalidModel(
                    f"{texts.name}: the text of the symbol {text!r} {kind} or has blank ends, so a"
                    " trip could not be read back; choose another separator, such as ';'"
                )


class TextTrips:
    """A word a line; lines that start with # or % are copied through.

    Parameters
    ----------
    lines : text stream
    name : str
        For errors.
    after : str or None
        Whatever stands up to and including its first occurrence in a line is copied through.
    separator : Separator
    records : bool
        Whether the text before `after` identifies the line.
    preamble : bool
        Whether all lines up to ``% Sequences:``, and blank ones behind it, are copied through, as
        in UCI's files.
    """

    def __init__(
        self,
        lines: IO[str],
        name: str,
        *,
        after: str | None,
        separator: Separator,
        records: bool = False,
        preamble: bool = False,
    ) -> None:
        self.name, self.separator = name, separator
        self.column: str | None = None
        self._lines, self._after = lines, after
        self._records, self._preamble = records, preamble

    def __iter__(self) -> Iterator[Trip]:
        row = 0
        # A preamble ends with a comment, and perhaps blank lines before the first trip.
        before = ending = self._preamble
        for row, line in enumerate(self._lines, 1):
            comment = line.startswith(("#", "%"))
            if row == 1 and not comment:
                before = ending = False
            ending = before or (ending and (comment or not line.strip()))
            if comment or ending:
                before = before and line.strip("%# \t\r\n").lower() != _SEQUENCES
                yield Trip(row, None, None, line)
                continue
            prefix, content = self._cut(row, line)
            body = content.strip()
            start = len(content) - len(content.lstrip())
            frame = (prefix + content[:start], content[start + len(body) :]) if body else (line, "")
            record = prefix[: -len(self._after)].strip() if self._records and self._after else None
            yield Trip(row, self.separator.split(body), record, frame)
        if row == 0:
            raise InvalidFile(f"{self.name}: the file is empty")

    def _cut(self, row: int, line: str) -> tuple[str, str]:
        if self._after is None:
            return "", line
        prefix, mark, content = line.partition(self._after)
        if not mark:
            raise InvalidFile(
                f"{self.name}, row {row}: {self._after!r} is missing, after which the trip should"
                " begin"
            )
        return prefix + mark, content

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of lines."""
        return _TextWriter(out, self.separator)

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that a line could not hold.

        Raises
        ------
        InvalidModel
            If a symbol holds the separator or, at the start of a line, would make it a comment.
        """
        self.separator.check(texts)
        for text in texts:
            if self._after is None and text.startswith(("#", "%")):
                raise InvalidModel(
                    f"{texts.name}: a line that begins with the symbol {text!r} would be read as a"
                    " comment; use CSV trips"
                )


class _TextWriter:
    def __init__(self, out: BinaryIO, separator: Separator) -> None:
        self._out, self._separator = out, separator

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Write a line."""
        if texts is None:
            line = trip.frame
        else:
            before, behind = trip.frame
            line = f"{before}{self._separator.join(texts)}{behind}"
        self._out.write(line.encode())

    def close(self) -> None:
        """Nothing is held back."""


class CsvTrips:
    """A table with a header; one column holds the trips.

    Parameters
    ----------
    lines : text stream
        Opened with ``newline=""``.
    name : str
        For errors, and for the delimiter (see `dpauto.formats.csvfile.delimiter_of`).
    column : str
        Name of the trips' column.
    record_column : str or None
        Name of the column that identifies rows.
    subject_column : str or None
        Name of the column of the people whose trips they are.
    position_column : str or None
        In long form: name of the column that orders the symbols of a word.
    separator : Separator

    Raises
    ------
    InvalidFile
        If the table is empty or a column is missing.
    """

    def __init__(
        self,
        lines: IO[str],
        name: str,
        *,
        column: str,
        record_column: str | None,
        separator: Separator,
        subject_column: str | None = None,
        position_column: str | None = None,
        delimiter: str | None = None,
    ) -> None:
        self.name, self.column, self.separator = name, column, separator
        first = lines.readline()
        if not first.strip():
            raise InvalidFile(f"{name}: the file is empty")
        # The line end of the header is the line end of the file that is written.
        self._line_end = first[len(first.rstrip("\r\n")) :] or "\n"
        self._delimiter = delimiter or delimiter_of(name, first)
        self._reader = csv.reader(chain([first], lines), delimiter=self._delimiter, strict=True)
        self._header = self._next() or []
        self._column = self._find(column, "--column")
        self._record = self._find_optional(record_column, "--id")
        self._subject = self._find_optional(subject_column, "--subject")
        self._position = self._find_optional(position_column, "--position")

    def _find_optional(self, column: str | None, option: str) -> int | None:
        return None if column is None else self._find(column, option)

    def _find(self, column: str, option: str) -> int:
        names = [cell.strip() for cell in self._header]
        wanted = column
        if wanted not in names:
            names, wanted = [name.lower() for name in names], column.lower()
        if wanted not in names:
            # The header is not shown: where there is none, it is somebody's trip.
            raise InvalidFile(
                f"{self.name}: there is no column {column!r} among the {len(names)} of the header;"
                f" {option} names another"
            )
        require_column(wanted, names, self.name, kind=InvalidFile)
        return names.index(wanted)

    def _next(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise InvalidFile(f"{self.name}, row {self._reader.line_num}: {error}") from None

    def __iter__(self) -> Iterator[Trip]:
        yield Trip(1, None, None, self._header)
        row = self._reader.line_num + 1
        while (cells := self._next()) is not None:
            if not cells:
                raise InvalidFile(f"{self.name}, row {row}: the row is blank")
            if len(cells) != len(self._header):
                raise InvalidFile(
                    f"{self.name}, row {row}: {len(cells)} cells where the header has"
                    f" {len(self._header)}"
                )
            record, subject, position = (
                None if column is None else cells[column]
                for column in (self._record, self._subject, self._position)
            )
            texts = self.separator.split(cells[self._column])
            yield Trip(row, texts, record, cells, subject, position)
            row = self._reader.line_num + 1

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of rows with the same delimiter and line end."""
        return _CsvWriter(out, self._column, self.separator, self._delimiter, self._line_end)

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that hold the separator; see `Separator.check`."""
        self.separator.check(texts)


class _CsvWriter:
    def __init__(
        self, out: BinaryIO, column: int, separator: Separator, delimiter: str, line_end: str
    ) -> None:
        self._writer = csv.writer(_Encoder(out), delimiter=delimiter, lineterminator=line_end)
        self._column, self._separator = column, separator

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Write a row of the table."""
        cells = trip.frame
        if texts is not None:
            cells = [
                *cells[: self._column],
                self._separator.join(texts),
                *cells[self._column + 1 :],
            ]
        self._writer.writerow(cells)

    def close(self) -> None:
        """Nothing is held back."""


class _Encoder:
    """Text in, bytes out; unlike io's wrapper it never closes the stream below."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(text.encode())
