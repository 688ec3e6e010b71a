"""Opening a file of trips: which of the table and text formats it has, and what goes with which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dpauto.errors import InvalidArgument
from dpauto.formats.files import open_bytes, open_text, suffix_of
from dpauto.formats.longform import WHOLE_CELL, LongTrips
from dpauto.formats.trips import CsvTrips, Separator, TextTrips, TripSource
from dpauto.formats.xes import XesTrips

__all__ = ["TRIP_FORMATS", "open_trips", "trip_format"]

#: Names of the formats that trips are read from, and written to.
TRIP_FORMATS = ("text", "csv", "tsv", "parquet", "arrow", "xes")

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xes": "xes",
}

#: The formats without columns, and what identifies a trip there.
_IDS = {
    "text": "with --key-file the text before --after is the id",
    "xes": "with --key-file the name of a trace is its id",
}


def trip_format(name: str, chosen: str | None = None) -> str:
    """Return one of `TRIP_FORMATS`: what was chosen, or what the suffix tells.

    Examples
    --------
    >>> trip_format("a.csv.gz"), trip_format("walks.txt"), trip_format("-", "csv")
    ('csv', 'text', 'csv')
    """
    return chosen or _FORMATS.get(suffix_of(name), "text")


def open_trips(
    name: str,
    *,
    format: str | None = None,  # noqa: A002
    column: str = "trip",
    record_column: str | None = None,
    subject_column: str | None = None,
    position_column: str | None = None,
    records: bool = False,
    after: str | None = None,
    separator: str | None = None,
) -> AbstractContextManager[TripSource]:
    """Open a file of trips.

    Parameters
    ----------
    name : str
        A path, or "-" for standard input.
    format : {"text", "csv", "tsv", "parquet", "arrow", "xes"}, optional
        By default what the suffix tells, text where it tells nothing.
    column, record_column, subject_column : str
        Columns of the trips, of their ids and of the people whose they are, in tables.
    position_column : str, optional
        For tables in long form, with a row for each symbol: the column that orders the symbols of
        a word. `column` is then that of the symbols, and `record_column` says which word a row
        belongs to; the rows of a word stand together.
    records : bool
        Whether every trip needs an id: in a table its `record_column`, in text what stands before
        `after`, in XES the name of the trace.
    after : str, optional
        In text, what the trip stands behind.
    separator : str, optional
        See `Separator`; XES needs none.

    Raises
    ------
    InvalidArgument
        If an option does not go with the format.
    InvalidFile
        If the file is empty, a column is missing or its text is damaged.
    OSError
        If it cannot be opened.
    """
    kind = trip_format(name, format)
    if kind != "text" and after is not None:
        raise InvalidArgument("after: only text trips have something before the trip; drop --after")
    columns = {
        "record_column": record_column,
        "subject_column": subject_column,
        "position_column": position_column,
    }
    if kind in _IDS:
        _refuse_columns(kind, columns)
    elif position_column is not None:
        _refuse_in_long_form(record_column, separator)
    if records and kind != "xes" and (after if kind == "text" else record_column) is None:
        raise InvalidArgument(
            "id: a keyed release needs an id for every trip: --id COLUMN in a table, --after TEXT"
            " in text"
        )
    if kind == "xes":
        return _open_xes(name)
    if kind == "text":
        return _open_text(name, after=after, separator=Separator(separator), records=records)
    return _open_table(name, kind, column=column, mark=separator, **columns)


def _refuse_columns(kind: str, columns: dict[str, str | None]) -> None:
    """Refuse columns where a format has none."""
    advice = {
        "record_column": f"id: {kind} trips have no columns; {_IDS[kind]}",
        "subject_column": f"subject: {kind} trips have no columns; a ledger needs a table",
        "position_column": f"position: {kind} trips have no columns; long form needs a table",
    }
    for name, column in columns.items():
        if column is not None:
            raise InvalidArgument(advice[name])


def _refuse_in_long_form(record_column: str | None, separator: str | None) -> None:
    if record_column is None:
        raise InvalidArgument(
            "position: in long form an id says which word a row belongs to; give --id COLUMN"
        )
    if separator is not None:
        raise InvalidArgument("separator: in long form a cell is one symbol; drop --separator")


@contextmanager
def _open_table(
    name: str, kind: str, *, mark: str | None, position_column: str | None, **columns: Any
) -> Iterator[TripSource]:
    marks = Separator(mark) if position_column is None else WHOLE_CELL
    options = {"position_column": position_column, "separator": marks, **columns}
    with _open_rows(name, kind, options) as rows:
        yield rows if position_column is None else LongTrips(rows, position_column)


def _open_rows(name: str, kind: str, options: dict[str, Any]) -> AbstractContextManager[TripSource]:
    if kind in ("parquet", "arrow"):
        from dpauto.formats.arrow import open_arrow

        return open_arrow(name, kind, **options)
    return _open_csv(name, delimiter="\t" if kind == "tsv" else None, **options)


@contextmanager
def _open_text(name: str, **options: Any) -> Iterator[TextTrips]:
    with open_text(name) as lines:
        yield TextTrips(lines, name, preamble=suffix_of(name) == ".seq", **options)


@contextmanager
def _open_csv(name: str, **options: Any) -> Iterator[CsvTrips]:
    with open_text(name) as lines:
        yield CsvTrips(lines, name, **options)


@contextmanager
def _open_xes(name: str) -> Iterator[XesTrips]:
    with open_bytes(name) as raw:
        yield XesTrips(raw, name)
