"""The Arrow batch function: what a cluster's worker runs, and nothing else."""

from __future__ import annotations

from typing import Any

from dpauto.batch.engine import Block
from dpauto.batch.plan import ReleasePlan, require_plan
from dpauto.batch.records import id_occurs_twice
from dpauto.errors import EmptyLanguage, InvalidArgument, InvalidWord
from dpauto.formats.arrow import WordColumn, require_pyarrow, texts_of_column
from dpauto.formats.columns import require_column

__all__ = ["release_batch"]


def release_batch(batch: Any, *, plan: ReleasePlan) -> Any:
    """Release the words of an Arrow record batch; everything else stays as it is.

    Words are grouped by length and each length is compiled once in a process, so batches of a few
    thousand rows are best. With `KeyedBits` the words do not depend on how a table was cut into
    batches, and a batch that is released again comes out the same.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    plan : ReleasePlan

    Returns
    -------
    pyarrow.RecordBatch
        Of the same schema and order; without the rows that could not be released if the plan skips
        them.

    Raises
    ------
    InvalidWord, UnknownSymbol, EmptyLanguage
        If a word cannot be released and the plan does not skip. Row (by the plan's `row_column`, or
        counted in the batch from 1) and column are named, never a symbol.
    DuplicateRecord
        If two rows of the batch have one id.
    InvalidArgument
        If `batch` or `plan` is of another kind, a column is missing, or a seed comes without ids.
    InvalidFile
        If the column's type cannot hold words.
    MissingDependency
        If pyarrow is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpauto import ReleasePlan, release_batch
    >>> batch = pa.record_batch({"who": [7, 8], "trip": ["a b", "b"]})
    >>> release_batch(batch, plan=ReleasePlan("all:ab", epsilon=60)).to_pydict()
    {'who': [7, 8], 'trip': ['a b', 'b']}
    """
    require_plan(plan)
    pa = require_pyarrow("an Arrow batch")
    if not isinstance(batch, pa.RecordBatch):
        raise InvalidArgument("batch must be a pyarrow.RecordBatch")
    if plan.seeded and plan.record_column is None and plan.row_column is None:
        raise InvalidArgument(
            "record_column: with a seed, rows need ids or numbers, or each batch would repeat the"
            " noise of the one before"
        )
    position = _position(batch, plan.column)
    words = WordColumn(batch.schema.field(position).type, f"column {plan.column}", plan.separator)
    block = _block(batch, words, plan)
    _check(block, words, plan)
    results = plan.engine.release(block)
    kept = [k for k, result in enumerate(results) if isinstance(result, list)]
    if len(kept) < len(results):
        if not plan.skips:
            row, error = next(
                (row, result)
                for row, result in zip(block.rows, results, strict=True)
                if not isinstance(result, list)
            )
            raise type(error)(f"row {row}, column {plan.column}: {error}")
        batch = batch.take(pa.array(kept, pa.int64()))
    columns = batch.columns
    columns[position] = words.array([r for r in results if isinstance(r, list)])
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _position(batch: Any, column: str) -> int:
    require_column(column, batch.schema.names, "column")
    position: int = batch.schema.get_field_index(column)
    return position


def _block(batch: Any, words: WordColumn, plan: ReleasePlan) -> Block:
    rows = list(range(1, len(batch) + 1))
    if plan.row_column is not None:
        rows = batch.column(_position(batch, plan.row_column)).to_pylist()
    records = None
    if plan.record_column is not None:
        ids = texts_of_column(batch.column(_position(batch, plan.record_column)))
        if None in ids:
            row = rows[ids.index(None)]
            raise InvalidWord(f"row {row}, column {plan.record_column}: the id is missing")
        records = [record for record in ids if record is not None]
        if len(set(records)) < len(records):
            raise id_occurs_twice(plan.record_column)
    return Block(rows, words.texts(batch.column(plan.column)), records)


def _check(block: Block, words: WordColumn, plan: ReleasePlan) -> None:
    """Refuse a model whose symbols the column cannot hold, before anything is released."""
    for length in {len(word) for word in block.words} - {0}:
        try:
            texts = plan.engine.texts(length)
        except EmptyLanguage:
            # No word of this length is feasible; its rows will say so.
            continue
        words.check(texts)
        return
