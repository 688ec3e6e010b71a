"""Trips in Arrow's memory: Parquet files and Arrow streams, batch by batch (the extra ``tables``).

`WordColumn` is the one place that knows which column types hold words; the tables here, frames and
the batch function of clusters share it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from dpauto.errors import InvalidArgument, InvalidFile, MissingDependency
from dpauto.formats.columns import require_column
from dpauto.formats.files import open_bytes
from dpauto.formats.longform import WHOLE_CELL
from dpauto.formats.symbols import SymbolTexts, text_of
from dpauto.formats.trips import Separator, Trip, TripWriter

__all__ = ["ArrowTrips", "WordColumn", "open_arrow", "require_pyarrow", "texts_of_column"]

#: Rows that are held in memory at a time.
BATCH_ROWS = 4096

#: How an Arrow file that is no stream begins.
_FILE_MAGIC = b"ARROW1"

#: Makes the writer of an output that is being opened: (stream, schema).
NewWriter: TypeAlias = Callable[[BinaryIO, Any], Any]


def require_pyarrow(what: str) -> Any:
    """Return the module pyarrow.

    Raises
    ------
    MissingDependency
        If it is not installed; `what` says what needed it.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingDependency(f"{what} needs pyarrow: pip install 'dpauto[tables]'") from None
    return pa


def texts_of_column(column: Any) -> list[str | None]:
    """Return the texts of a column of ids; null is None."""
    return [None if value is None else text_of(value) for value in column.to_pylist()]


class WordColumn:
    """A column that holds words: text, or lists of strings or integers.

    Parameters
    ----------
    type : pyarrow.DataType
    place : str
        What to call the column in errors.
    separator : Separator
        How text is split into symbols.

    Raises
    ------
    InvalidFile
        If the type cannot hold words.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = WordColumn(pa.list_(pa.int16()), "column trip", Separator(None))
    >>> column.texts(pa.array([[7, 8], None]))
    [['7', '8'], []]
    >>> column.array([["8", "7"]]).to_pylist()
    [[8, 7]]
    """

    def __init__(self, type: Any, place: str, separator: Separator) -> None:  # noqa: A002
        from pyarrow import types

        self.type, self.place, self.separator = type, place, separator
        listed = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        self.listed = any(holds(type) for holds in listed)
        content = type.value_type if self.listed else type
        text = (types.is_string, types.is_large_string, types.is_string_view)
        self.whole = types.is_integer(content)
        # In long form a cell is one symbol, which may be an integer itself.
        whole = self.whole and (self.listed or separator.mark == WHOLE_CELL.mark)
        if not any(holds(content) for holds in text) and not whole:
            raise InvalidFile(
                f"{place}: trips must be text or lists of strings or integers, not {type}"
            )

    def texts(self, array: Any) -> list[list[str]]:
        """Return the texts of every word's symbols; a null word has none.

        Raises
        ------
        InvalidFile
            If a symbol is null; the row of the array is named, counted from 1.
        """
        words = array.to_pylist()
        if not self.listed:
            return [[] if word is None else self.separator.split(str(word)) for word in words]
        if self.whole:
            texts = [[] if word is None else [str(symbol) for symbol in word] for word in words]
        else:
            texts = [[] if word is None else word for word in words]
        for row, word in enumerate(words, 1):
            if word is not None and None in word:
                raise InvalidFile(f"row {row}, {self.place}: a symbol is null")
        return texts

    def array(self, words: Sequence[Sequence[str] | None]) -> Any:
        """Return the words as an array of the column's type."""
        import pyarrow as pa

        if self.listed:
            return pa.array(words, pa.list_(pa.string())).cast(self.type)
        joined = [None if word is None else self.separator.join(word) for word in words]
        return pa.array(joined, pa.string()).cast(self.type)

    def check(self, texts: SymbolTexts) -> None:
        """Refuse symbols that the column's type cannot hold.

        Raises
        ------
        InvalidModel
            If trips are text and a symbol holds the separator.
        InvalidFile
            If symbols are integers and one of the model's is none.
        """
        if self.whole:
            for text in texts:
                if not text.removeprefix("-").isdecimal():
                    raise InvalidFile(
                        f"{self.place}: symbols are integers, but the model has the symbol {text!r}"
                    )
        elif not self.listed:
            self.separator.check(texts)


@dataclass(slots=True)
class _Place:
    batch: Any
    index: int


class ArrowTrips:
    """The rows of record batches; one column holds the trips.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    schema : pyarrow.Schema
    new_writer : callable
        Makes, from a stream and the schema, what the batches of the output are written to.
    name : str
        For errors.
    column, record_column, subject_column, position_column : str or None
        Columns of the trips, of their ids, of the people they belong to and, in long form, of the
        places of symbols.
    separator : Separator

    Raises
    ------
    InvalidFile
        If a column is missing or cannot hold words.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        schema: Any,
        new_writer: NewWriter,
        name: str,
        *,
        column: str,
        record_column: str | None = None,
        subject_column: str | None = None,
        position_column: str | None = None,
        separator: Separator,
    ) -> None:
        self.name, self.column, self.separator = name, column, separator
        self._batches, self._schema, self._new_writer = batches, schema, new_writer
        self._record, self._subject = record_column, subject_column
        self._position = position_column
        named = {
            "--column": column,
            "--id": record_column,
            "--subject": subject_column,
            "--position": position_column,
        }
        for option, wanted in named.items():
            if wanted is not None:
                advice = f" ({option} names another)"
                require_column(wanted, schema.names, name, advice=advice, kind=InvalidFile)
        self._words = WordColumn(schema.field(column).type, f"{name}, column {column}", separator)

    def __iter__(self) -> Iterator[Trip]:
        row = 0
        for batch in self._small_batches():
            try:
                words = self._words.texts(batch.column(self.column))
            except InvalidFile:
                self._find_null(batch, row)
                raise
            records = self._texts(batch, self._record)
            subjects = self._texts(batch, self._subject)
            places: list[Any] = [None] * len(batch)
            if self._position is not None:
                places = batch.column(self._position).to_pylist()
            for index, (word, record, subject, place) in enumerate(
                zip(words, records, subjects, places, strict=True)
            ):
                row += 1
                yield Trip(row, word, record, _Place(batch, index), subject, place)

    def _small_batches(self) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for batch in self._batches:
                for start in range(0, len(batch), BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS)
        except (pa.ArrowInvalid, OSError):
            raise InvalidFile(f"{self.name}: the file is damaged or not complete") from None

    @staticmethod
    def _texts(batch: Any, column: str | None) -> Sequence[str | None]:
        return [None] * len(batch) if column is None else texts_of_column(batch.column(column))

    def _find_null(self, batch: Any, row: int) -> None:
        """Name the row of the first null symbol, as the table counts it."""
        for index, word in enumerate(batch.column(self.column).to_pylist(), row + 1):
            if word is not None and None in word:
                raise InvalidFile(
                    f"{self.name}, row {index}, column {self.column}: a symbol is null"
                ) from None

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of a table with the same columns and types."""
        sink = self._new_writer(out, self._schema)
        return _ArrowWriter(sink, self._schema, self._words, self.column)

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that the column's type cannot hold; see `WordColumn.check`."""
        self._words.check(texts)


class _ArrowWriter:
    """Collects the rows of a batch and writes it when the next one begins."""

    def __init__(self, sink: Any, schema: Any, words: WordColumn, column: str) -> None:
        self._sink, self._schema, self._words = sink, schema, words
        self._position = schema.get_field_index(column)
        self._batch: Any = None
        self._indices: list[int] = []
        self._released: list[Sequence[str] | None] = []

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Take a row, and write the batch before it when it is the first of a new one."""
        if trip.frame.batch is not self._batch:
            self._flush()
            self._batch = trip.frame.batch
        self._indices.append(trip.frame.index)
        self._released.append(texts)

    def close(self) -> None:
        """Write the last batch and the footer."""
        self._flush()
        self._sink.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._indices:
            return
        kept = self._batch.take(pa.array(self._indices))
        columns = kept.columns
        columns[self._position] = self._words.array(self._released)
        self._sink.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._indices, self._released = [], []


@contextmanager
def open_arrow(name: str, kind: str, **options: Any) -> Iterator[ArrowTrips]:
    """Open a file or stream; see `dpauto.formats.open_trips`.

    Parameters
    ----------
    name : str
    kind : {"parquet", "arrow"}
    **options
        Columns and separator of `ArrowTrips`.

    Raises
    ------
    MissingDependency
        If pyarrow is not installed.
    InvalidArgument
        If Parquet should come from standard input.
    InvalidFile
        If the file has another format, or a column is missing or of another type.
    """
    pa = require_pyarrow(f"{name}: {'Parquet' if kind == 'parquet' else 'Arrow'}")
    if kind == "parquet" and name == "-":
        raise InvalidArgument("Parquet cannot be read from standard input; name a file")
    with open_bytes(name) as raw:
        try:
            batches, schema, new_writer = (_parquet if kind == "parquet" else _arrow)(raw)
        except pa.ArrowInvalid:
            raise InvalidFile(
                f"{name}: not {'a Parquet file' if kind == 'parquet' else 'Arrow data'}"
            ) from None
        yield ArrowTrips(batches, schema, new_writer, name, **options)


def _parquet(raw: BinaryIO) -> tuple[Iterable[Any], Any, NewWriter]:
    from pyarrow import parquet

    class Writer(parquet.ParquetWriter):  # type: ignore[misc]
        """A writer that leaves the output of a failed run alone: its stream is closed by then."""

        def __del__(self) -> None:
            pass

    table = parquet.ParquetFile(raw)
    return table.iter_batches(batch_size=BATCH_ROWS), table.schema_arrow, Writer


def _arrow(raw: BinaryIO) -> tuple[Iterable[Any], Any, NewWriter]:
    """Read an Arrow file where it begins like one, and a stream otherwise."""
    from pyarrow import ipc

    buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)  # type: ignore[type-var]
    if buffered.peek(len(_FILE_MAGIC))[: len(_FILE_MAGIC)] == _FILE_MAGIC:
        table = ipc.open_file(buffered)
        numbers = range(table.num_record_batches)
        return (table.get_batch(k) for k in numbers), table.schema, ipc.new_file
    stream = ipc.open_stream(buffered)
    return stream, stream.schema, ipc.new_stream
