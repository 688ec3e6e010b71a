"""Rows of CSV and TSV files, with errors that name file, row and column.

Rows are counted from 1 as a spreadsheet or an editor counts them, the header included.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import IO

from dpauto.errors import InvalidFile

__all__ = ["delimiter_of", "find_column", "headed_rows", "moment", "number", "rows_of"]

#: Cells hold whole trips; the csv module's own limit is 128 KiB.
csv.field_size_limit(2**31 - 1)


def delimiter_of(name: str, header: str) -> str:
    r"""Return the delimiter: a tab in TSV files, else the first of ``, ; tab`` that the header has.

    Examples
    --------
    >>> delimiter_of("a.csv", "source;target"), delimiter_of("a.tsv", "x")
    (';', '\t')
    """
    if name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    return next((mark for mark in ",;\t" if mark in header), ",")


def rows_of(lines: IO[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (row number, cells) of the rows that are not blank.

    Raises
    ------
    InvalidFile
        If the file is empty or its quotes do not match.
    """
    first = lines.readline()
    if not first:
        raise InvalidFile(f"{name}: the file is empty")
    reader = csv.reader(
        chain([first], lines),
        delimiter=delimiter_of(name, first),
        skipinitialspace=True,
        strict=True,
    )
    before = 0
    try:
        for cells in reader:
            row, before = before + 1, reader.line_num
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield row, cells
    except csv.Error as error:
        raise InvalidFile(f"{name}, row {reader.line_num}: {error}") from None


def headed_rows(lines: IO[str], name: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the header's cells and an iterator over the rows below it.

    Raises
    ------
    InvalidFile
        If there is no header.
    """
    rows = rows_of(lines, name)
    for _, header in rows:
        return header, rows
    raise InvalidFile(f"{name}: the file is empty")


def find_column(header: Sequence[str], *names: str) -> int | None:
    """Return the position of the first of some column names, ignoring case, or None.

    Examples
    --------
    >>> find_column(["Source", "Target"], "target", "v"), find_column(["a"], "b")
    (1, None)
    """
    plain = [cell.strip().lower() for cell in header]
    return next((plain.index(name) for name in names if name in plain), None)


_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def number(text: str, *, file: str, row: int, column: str) -> float:
    """Return the number in a cell; a fraction such as 1/3 is one too.

    Raises
    ------
    InvalidFile
        If the cell holds no number.
    """
    above, slash, below = text.strip().partition("/")
    if _DECIMAL.fullmatch(above.strip()) and (not slash or _DECIMAL.fullmatch(below.strip())):
        divisor = float(below) if slash else 1.0
        if divisor != 0:
            return float(above) / divisor
    raise InvalidFile(f"{file}, row {row}, column {column}: {text.strip()!r} is not a number")


def moment(text: str, *, file: str, row: int, column: str) -> float | datetime:
    """Return what orders events: a number or an ISO time.

    Raises
    ------
    InvalidFile
        If the cell holds neither.

    Examples
    --------
    >>> moment("7", file="log.csv", row=2, column="step")
    7.0
    >>> moment("2020/01/31 12:00", file="log.csv", row=2, column="time")
    datetime.datetime(2020, 1, 31, 12, 0)
    """
    try:
        order = float(text)
        if order == order:  # noqa: PLR0124 - nan is no place in an order
            return order
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text.strip().replace("/", "-"))
    except ValueError:
        raise InvalidFile(
            f"{file}, row {row}, column {column.strip()}: neither an ISO time such as"
            " 2020-01-31T12:00:00 nor a number"
        ) from None
