"""Spark: the batch function over a DataFrame's partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from dpauto.batch.batches import release_batch
from dpauto.batch.plan import ReleasePlan, require_plan
from dpauto.batch.records import id_occurs_twice
from dpauto.errors import InvalidArgument, MissingDependency
from dpauto.formats.columns import require_column

__all__ = ["release_spark"]


def release_spark(frame: Any, *, plan: ReleasePlan, check_records: bool = True) -> Any:
    """Release the words of a Spark DataFrame, partition by partition.

    Lazy, as everything in Spark: words are released when a result is asked for, and *each time* it
    is computed. So the plan has to be keyed: a task that Spark runs again, after a worker was lost
    or because the frame is used twice, then makes the same release and not a second one.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    plan : ReleasePlan
        With `KeyedBits` (or, for experiments, a seed) and a `record_column`.
    check_records : bool, optional
        Whether to look for ids that occur twice first, at the price of one more job.

    Returns
    -------
    pyspark.sql.DataFrame
        Of the same schema.

    Raises
    ------
    InvalidArgument
        If `plan` is none or has no key, or a column is missing.
    DuplicateRecord
        If an id occurs twice.
    MissingDependency
        If pyspark is not installed.

    Notes
    -----
    The workers need dpauto and pyarrow. The key travels to them in the plan. A row that cannot be
    released fails its task; with ``on_error="skip"`` it is left out.
    """
    require_plan(plan)
    try:
        from pyspark.sql import functions
    except ImportError:
        raise MissingDependency("Spark needs pyspark: pip install 'dpauto[spark]'") from None
    if plan.record_column is None or not (plan.keyed or plan.seeded):
        raise InvalidArgument(
            "plan: Spark runs tasks again when it likes, and each run would be one more release;"
            " give KeyedBits and a record_column"
        )
    for column in (plan.column, plan.record_column):
        require_column(column, frame.columns, "plan")
    if check_records:
        ids = functions.col(f"`{plan.record_column}`")
        # Rows without an id are refused when they are released.
        named = frame.where(ids.isNotNull()).groupBy(ids.cast("string"))
        if named.count().where("count > 1").limit(1).count():
            raise id_occurs_twice(plan.record_column)
    return frame.mapInArrow(partial(_released, plan), frame.schema)


def _released(plan: ReleasePlan, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield release_batch(batch, plan=plan)
