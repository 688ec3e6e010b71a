"""Frames in memory (pandas, polars, Arrow): a column of words, or a row for each symbol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, BinaryIO

from dpauto.batch.ledger import Ledger
from dpauto.batch.plan import ReleasePlan, require_plan
from dpauto.batch.running import release_trips
from dpauto.errors import InvalidArgument, InvalidFile
from dpauto.formats.arrow import WordColumn, require_pyarrow, texts_of_column
from dpauto.formats.columns import require_column
from dpauto.formats.symbols import SymbolTexts, text_of
from dpauto.formats.trips import Separator, Trip, TripWriter

__all__ = ["adapted", "release_table"]


def release_table(
    table: Any,
    *,
    plan: ReleasePlan,
    position: str | None = None,
    workers: int | None = None,
    ledger: Ledger | None = None,
    subject_column: str | None = None,
    advance: Callable[[int], object] | None = None,
) -> Any:
    """Release the words of a frame; other columns, types and the order of rows stay as they are.

    Parameters
    ----------
    table : pandas.DataFrame, polars.DataFrame, pyarrow.Table or pyarrow.RecordBatch
    plan : ReleasePlan
        Its `column` holds the words: text, or lists of strings or integers.
    position : str, optional
        For frames in long form, with a row for each symbol: the column that orders the symbols of a
        word. The plan's `column` is then that of the symbols and its `record_column`, the same in
        all rows of a word, says which word they belong to.
    workers : int, optional
        Processes; by default one per processor once there is enough to do.
    ledger : Ledger, optional
        Charged for every word.
    subject_column : str, optional
        With `ledger`: whose words they are.
    advance : callable of int, optional
        Told how many more words are done, for example the ``update`` of a tqdm bar.

    Returns
    -------
    A frame of the kind of `table`
        Without the words that could not be released if the plan skips them.

    Raises
    ------
    InvalidArgument
        If `table` or `plan` is of another kind, a column is missing, or `ledger` comes without
        `subject_column`.
    InvalidFile
        If a column's type does not fit, or two symbols of a word have one position.
    InvalidWord, UnknownSymbol, EmptyLanguage
        If a word cannot be released and the plan does not skip; row and column are named.
    BudgetExceeded
        If a subject cannot afford a release.
    DuplicateRecord
        If two words have one id.
    MissingDependency
        If pyarrow is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> import dpauto
    >>> plan = dpauto.ReleasePlan("all:ab", epsilon=60)
    >>> frame = pd.DataFrame({"who": [1, 2], "trip": [["a", "b"], ["b"]]})
    >>> dpauto.release_table(frame, plan=plan)["trip"].tolist()
    [['a', 'b'], ['b']]
    """
    require_plan(plan)
    require_pyarrow("a frame")
    if (ledger is None) != (subject_column is None):
        raise InvalidArgument("ledger: a ledger and a subject_column go together")
    frame = adapted(table)
    rows: _Rows
    if position is None:
        rows = _WholeWords(frame, plan, subject_column)
    else:
        rows = _LongForm(frame, plan, position, subject_column)
    with nullcontext() if ledger is None else ledger.all_or_nothing():
        release_trips(
            rows,
            rows,
            plan,
            workers=workers,
            ledger=ledger,
            advance=advance or (lambda _: None),
        )
        return rows.result()


# -- kinds of frames -------------------------------------------------------------------------------


class _Arrow:
    """A pyarrow table or record batch."""

    def __init__(self, table: Any) -> None:
        self.table = table

    @property
    def names(self) -> list[Hashable]:
        return list(self.table.schema.names)

    def column(self, name: str) -> Any:
        """Return a column as one Arrow array."""
        column = self.table.column(name)
        return column.combine_chunks() if hasattr(column, "combine_chunks") else column

    def replaced(self, name: str, column: Any, kept: Sequence[int] | None) -> Any:
        """Return the table with another column, and only the rows that are `kept`."""
        table = self.table if kept is None else self.table.take(list(kept))
        place = table.schema.get_field_index(name)
        return table.set_column(place, table.schema.field(place), column)


class _Pandas(_Arrow):
    @property
    def names(self) -> list[Hashable]:
        return list(self.table.columns)

    def column(self, name: str) -> Any:
        import pyarrow as pa

        array = pa.Array.from_pandas(self.table[name])
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

    def replaced(self, name: str, column: Any, kept: Sequence[int] | None) -> Any:
        """See `_Arrow.replaced`; the index stays."""
        import pandas as pd

        table = self.table if kept is None else self.table.iloc[list(kept)]
        old = table[name].dtype
        values = pd.Series(column.to_pylist(), index=table.index, dtype=old)
        return table.assign(**{name: values})


class _Polars(_Arrow):
    @property
    def names(self) -> list[Hashable]:
        return list(self.table.columns)

    def column(self, name: str) -> Any:
        return self.table.get_column(name).to_arrow()

    def replaced(self, name: str, column: Any, kept: Sequence[int] | None) -> Any:
        """See `_Arrow.replaced`."""
        import polars as pl

        table = self.table if kept is None else self.table[list(kept)]
        series = pl.Series(name, column.to_pylist(), dtype=table.schema[name])
        return table.with_columns(series)


def adapted(table: Any) -> _Arrow:
    """Return what reads and replaces the columns of a frame of any kind.

    Raises
    ------
    InvalidArgument
        If it is no frame.
    """
    kinds = {"pandas": _Pandas, "polars": _Polars, "pyarrow": _Arrow}
    kind = type(table).__module__.partition(".")[0]
    if kind not in kinds or type(table).__name__ not in ("DataFrame", "Table", "RecordBatch"):
        raise InvalidArgument(
            "table must be a pandas or polars DataFrame or a pyarrow Table or RecordBatch, not"
            f" {type(table).__name__}"
        )
    return kinds[kind](table)


# -- where the words are ---------------------------------------------------------------------------


class _Rows(ABC):
    """The words of a frame as a source of trips, and the writer that collects their releases."""

    name = "table"
    separator: Separator

    def __init__(self, frame: _Arrow, plan: ReleasePlan, subject_column: str | None) -> None:
        self._frame, self._plan = frame, plan
        self.column: str | None = plan.column
        self.separator = plan.separator
        self._released: dict[int, Sequence[str]] = {}
        for column in (plan.column, plan.record_column, subject_column):
            if column is not None:
                require_column(column, frame.names, "table")
        self._subjects = self._optional(subject_column)
        self._records = self._optional(plan.record_column)

    def _optional(self, column: str | None) -> list[str | None] | None:
        return None if column is None else texts_of_column(self._frame.column(column))

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return the collection itself."""
        return self

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Take a released word."""
        if texts is not None:
            self._released[trip.frame] = texts

    def close(self) -> None:  # noqa: B027 -- part of what a writer does, and complete
        """Nothing is held back."""

    def _trip(self, number: int, row: int, texts: list[str]) -> Trip:
        """Return word `number`, whose ids stand in `row` (from 0)."""
        record = None if self._records is None else self._records[row]
        subject = None if self._subjects is None else self._subjects[row]
        return Trip(row + 1, texts, record, number, subject)

    @abstractmethod
    def __iter__(self) -> Iterator[Trip]: ...

    @abstractmethod
    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that the column cannot hold."""

    @abstractmethod
    def result(self) -> Any:
        """Return the frame with the released words."""


class _WholeWords(_Rows):
    """A row for each word."""

    def __init__(self, frame: _Arrow, plan: ReleasePlan, subject_column: str | None) -> None:
        super().__init__(frame, plan, subject_column)
        self._array = frame.column(plan.column)
        self._words = WordColumn(self._array.type, f"column {plan.column}", plan.separator)

    def __iter__(self) -> Iterator[Trip]:
        for row, texts in enumerate(self._words.texts(self._array)):
            yield self._trip(row, row, texts)

    def check_symbols(self, texts: SymbolTexts) -> None:
        """See `WordColumn.check`."""
        self._words.check(texts)

    def result(self) -> Any:
        """Return the frame with the released words."""
        kept = sorted(self._released)
        column = self._words.array([self._released[row] for row in kept])
        whole = len(kept) == len(self._array)
        return self._frame.replaced(self._plan.column, column, None if whole else kept)


class _LongForm(_Rows):
    """A row for each symbol: the id of its word, its position in the word, and itself."""

    def __init__(
        self, frame: _Arrow, plan: ReleasePlan, position: str, subject_column: str | None
    ) -> None:
        super().__init__(frame, plan, subject_column)
        if plan.record_column is None:
            raise InvalidArgument("record_column: in long form it says which word a row belongs to")
        require_column(position, frame.names, "position")
        from pyarrow import types

        self._array = frame.column(plan.column)
        self._whole = types.is_integer(self._array.type)
        if not self._whole and not any(
            holds(self._array.type)
            for holds in (types.is_string, types.is_large_string, types.is_string_view)
        ):
            raise InvalidFile(
                f"column {plan.column}: symbols must be strings or integers, not {self._array.type}"
            )
        self._rows_of = self._grouped(frame.column(position).to_pylist(), position)

    def _grouped(self, places: list[Any], position: str) -> list[list[int]]:
        """Return the rows of every word in the order of their positions."""
        words: dict[str | None, list[int]] = {}
        for row, record in enumerate(self._records or ()):
            if record is None:
                raise InvalidFile(f"row {row + 1}, column {self._plan.record_column}: it is null")
            words.setdefault(record, []).append(row)
        for rows in words.values():
            for row in rows:
                if places[row] is None:
                    raise InvalidFile(f"row {row + 1}, column {position}: it is null")
            rows.sort(key=places.__getitem__)
            for row, before in zip(rows[1:], rows, strict=False):
                if places[row] == places[before]:
                    raise InvalidFile(
                        f"row {max(row, before) + 1}, column {position}: another symbol of the word"
                        " has this position"
                    )
        return list(words.values())

    def __iter__(self) -> Iterator[Trip]:
        symbols = self._array.to_pylist()
        for number, rows in enumerate(self._rows_of):
            for row in rows:
                if symbols[row] is None:
                    raise InvalidFile(f"row {row + 1}, column {self._plan.column}: it is null")
            yield self._trip(number, min(rows), [text_of(symbols[row]) for row in rows])

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that are no integers where the column holds integers."""
        if self._whole and not all(text.removeprefix("-").isdecimal() for text in texts):
            raise InvalidFile(
                f"column {self._plan.column}: it holds integers, but the model has other symbols"
            )

    def result(self) -> Any:
        """Return the frame with the released symbols."""
        import pyarrow as pa

        released: dict[int, str] = {}
        for number, texts in self._released.items():
            released.update(zip(self._rows_of[number], texts, strict=True))
        kept = sorted(released)
        column = pa.array([released[row] for row in kept], pa.string()).cast(self._array.type)
        whole = len(kept) == len(self._array)
        return self._frame.replaced(self._plan.column, column, None if whole else kept)
