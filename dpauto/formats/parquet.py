"""Trips in Parquet, batch by batch, through pyarrow (the extra ``tables``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from dpauto.errors import InvalidArgument, InvalidFile, MissingDependency
from dpauto.formats.symbols import SymbolTexts, text_of
from dpauto.formats.trips import Separator, Trip, TripWriter

__all__ = ["ParquetTrips"]

#: Rows that are held in memory at a time.
BATCH_ROWS = 4096


@dataclass
class _Place:
    batch: Any
    index: int


class ParquetTrips:
    """A Parquet table; one column holds the trips, as text or as lists of strings or integers.

    Build it with `open`.
    """

    def __init__(
        self, table: Any, name: str, *, column: str, record_column: str | None, separator: Separator
    ) -> None:
        from pyarrow import types

        self.name, self.separator = name, separator
        self._table, self._column, self._record = table, column, record_column
        schema = table.schema_arrow
        for wanted, option in ((column, "--column"), (record_column, "--id")):
            if wanted is not None and wanted not in schema.names:
                raise InvalidFile(
                    f"{name}: there is no column {wanted!r}; the columns are"
                    f" {', '.join(schema.names)} ({option} names another)"
                )
        self._type = schema.field(column).type
        self._listed = types.is_list(self._type) or types.is_large_list(self._type)
        content = self._type.value_type if self._listed else self._type
        is_text = types.is_string(content) or types.is_large_string(content)
        if not is_text and not (self._listed and types.is_integer(content)):
            raise InvalidFile(
                f"{name}, column {column}: trips must be text or lists of strings or integers, not"
                f" {self._type}"
            )

    @classmethod
    @contextmanager
    def open(
        cls, name: str, *, column: str, record_column: str | None, separator: Separator
    ) -> Iterator[ParquetTrips]:
        """Open a file; see `dpauto.formats.open_trips`.

        Raises
        ------
        MissingDependency
            If pyarrow is not installed.
        InvalidArgument
            If the name is "-": Parquet has to be read from a file.
        InvalidFile
            If the file is no Parquet, or a column is missing or of another type.
        """
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise MissingDependency(
                f"{name}: Parquet needs pyarrow: pip install 'dpauto[tables]'"
            ) from None
        if name == "-":
            raise InvalidArgument("Parquet cannot be read from standard input; name a file")
        with open(name, "rb") as raw:
            try:
                table = parquet.ParquetFile(raw)
            except pa.ArrowInvalid:
                raise InvalidFile(f"{name}: not a Parquet file") from None
            yield cls(table, name, column=column, record_column=record_column, separator=separator)

    def __iter__(self) -> Iterator[Trip]:
        row = 0
        for batch in self._table.iter_batches(batch_size=BATCH_ROWS):
            words = batch.column(self._column).to_pylist()
            records = [None] * len(words)
            if self._record is not None:
                records = batch.column(self._record).to_pylist()
            for index, (word, record) in enumerate(zip(words, records, strict=True)):
                row += 1
                key = None if self._record is None else text_of(record)
                yield Trip(row, self._texts(word, row), key, _Place(batch, index))

    def _texts(self, word: Any, row: int) -> list[str]:
        if word is None:
            return []
        if not self._listed:
            return self.separator.split(word)
        if None in word:
            raise InvalidFile(f"{self.name}, row {row}, column {self._column}: a symbol is null")
        return [text_of(symbol) for symbol in word]

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of a table with the same columns and types."""
        return _ParquetWriter(
            out, self._table.schema_arrow, self._column, self._listed, self.separator
        )

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that the column's type cannot hold.

        Raises
        ------
        InvalidModel
            If trips are text and a symbol holds the separator.
        InvalidFile
            If trips are lists of integers and a symbol is none.
        """
        from pyarrow import types

        if not self._listed:
            self.separator.check(texts)
        elif types.is_integer(self._type.value_type):
            for text in texts:
                if not text.removeprefix("-").isdecimal():
                    raise InvalidFile(
                        f"{self.name}, column {self._column}: trips are lists of integers, but the"
                        f" model has the symbol {text!r}"
                    )


class _ParquetWriter:
    """Collects the rows of a batch and writes it when the next one begins."""

    def __init__(
        self, out: BinaryIO, schema: Any, column: str, listed: bool, separator: Separator
    ) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(out, schema)
        self._schema, self._column = schema, column
        self._listed, self._separator = listed, separator
        self._batch: Any = None
        self._indices: list[int] = []
        self._words: list[Sequence[str] | None] = []

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Take a row, and write the batch before it when it is the first of a new one."""
        if trip.frame.batch is not self._batch:
            self._flush()
            self._batch = trip.frame.batch
        self._indices.append(trip.frame.index)
        self._words.append(texts)

    def close(self) -> None:
        """Write the last batch and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._indices:
            return
        kept = self._batch.take(pa.array(self._indices))
        position = self._schema.get_field_index(self._column)
        field = self._schema.field(position)
        if self._listed:
            words = pa.array(self._words, pa.list_(pa.string())).cast(field.type)
        else:
            joined = [None if word is None else self._separator.join(word) for word in self._words]
            words = pa.array(joined, field.type)
        columns = [words if k == position else kept.column(k) for k in range(kept.num_columns)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._indices, self._words = [], []
