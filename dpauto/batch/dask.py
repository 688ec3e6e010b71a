"""Dask: blocks of a run on a cluster's workers, and frames that lie there."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from dpauto.batch.batches import release_batch
from dpauto.batch.engine import TRIP_ERRORS, Block, Result
from dpauto.batch.frames import adapted
from dpauto.batch.plan import ReleasePlan, require_plan
from dpauto.batch.records import id_occurs_twice
from dpauto.batch.workers import Pending, in_parts
from dpauto.errors import InvalidArgument, InvalidWord, MissingDependency
from dpauto.formats.columns import require_column
from dpauto.formats.symbols import text_of

__all__ = ["DaskWorkers", "release_dask"]

#: Columns of the batches that travel.
_ROW, _ID, _TRIP = "row", "id", "trip"

#: How often a block may lose its worker.
RETRIES = 10


class DaskWorkers:
    """Releases blocks on the workers of a Dask cluster; see `dpauto.batch.workers.Workers`.

    Parameters
    ----------
    plan : ReleasePlan
        Keyed (or seeded), since a block whose worker is lost is released again.
    address : str
        Of the scheduler, or "local" for a cluster of this machine's processors.

    Raises
    ------
    InvalidArgument
        If the plan has no key, or there is no scheduler at the address.
    MissingDependency
        If dask.distributed or pyarrow is not installed.
    """

    def __init__(self, plan: ReleasePlan, address: str) -> None:
        try:
            import pyarrow as pa

            distributed: Any = import_module("distributed")
        except ImportError:
            raise MissingDependency(
                "Dask needs distributed and pyarrow: pip install 'dpauto[dask]'"
            ) from None
        if not (plan.keyed or plan.seeded):
            raise InvalidArgument(
                "dask: a block whose worker is lost is released again, and that would be one more"
                " release; give a key and ids"
            )
        self._pa = pa
        self._cluster: Any = None
        if address == "local":
            self._cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0")
        try:
            self._client = distributed.Client(self._cluster or address, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"dask: no scheduler answers at {address}") from error
        # Rows always travel, so that they can be told apart when some are left out.
        self._plan = plan.altered(
            column=_TRIP,
            record_column=None if plan.record_column is None else _ID,
            row_column=_ROW,
            on_error="skip" if plan.skips else "stop",
        )
        self.ahead = 2 * max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def submit(self, block: Block) -> Pending:
        """Send a block to the cluster."""
        return in_parts(block, self._begin)

    def _begin(self, block: Block) -> Pending:
        pa = self._pa
        columns = {
            _ROW: pa.array(block.rows, pa.int64()),
            _TRIP: pa.array(block.words, pa.list_(pa.string())),
        }
        if block.records is not None:
            columns[_ID] = pa.array(block.records, pa.string())
        batch = pa.record_batch(columns)
        # Not pure: Dask would put a hash of the words into the names that its pages show.
        future = self._client.submit(
            release_batch, batch, plan=self._plan, pure=False, retries=RETRIES
        )
        return lambda: self._collect(block, future)

    def _collect(self, block: Block, future: Any) -> list[Result]:
        try:
            batch = future.result()
        except TRIP_ERRORS:
            # One word ends the run. Which one is found here, where the file is known.
            return self._plan.engine.release(block)
        released = dict(
            zip(batch.column(_ROW).to_pylist(), batch.column(_TRIP).to_pylist(), strict=True)
        )
        left_out = InvalidWord("the trip was left out")
        return [released.get(row, left_out) for row in block.rows]

    def close(self) -> None:
        """Leave the cluster, and end it if it is our own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def release_dask(frame: Any, *, plan: ReleasePlan, check_records: bool = True) -> Any:
    """Release the words of a Dask DataFrame, partition by partition.

    Lazy, as everything in Dask: words are released each time a result is computed, so the plan has
    to be keyed.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Its words are text, or lists of strings or integers.
    plan : ReleasePlan
        With `KeyedBits` (or, for experiments, a seed) and a `record_column`.
    check_records : bool, optional
        Whether to look for ids that occur twice first, at the price of one more computation over
        the column of ids. They are spread over as many groups as there are partitions, so no
        worker holds all of them.

    Returns
    -------
    dask.dataframe.DataFrame

    Raises
    ------
    InvalidArgument
        If `plan` is none or has no key, or a column is missing.
    DuplicateRecord
        If an id occurs twice.
    """
    require_plan(plan)
    if plan.record_column is None or not (plan.keyed or plan.seeded):
        raise InvalidArgument(
            "plan: Dask runs tasks again when a worker is lost, and each run would be one more"
            " release; give KeyedBits and a record_column"
        )
    for column in (plan.column, plan.record_column):
        require_column(column, list(frame.columns), "plan")
    if check_records and _has_duplicates(frame[plan.record_column]):
        raise id_occurs_twice(plan.record_column)
    return frame.map_partitions(_released, plan, meta=frame._meta)


def _has_duplicates(ids: Any) -> bool:
    """Whether two rows of a Dask column have one id; missing ids are refused when released."""
    texts = ids.dropna().map(text_of, meta=(ids.name, object))
    counts = texts.value_counts(sort=False, split_out=texts.npartitions)
    return bool((counts > 1).any().compute())


def _released(part: Any, plan: ReleasePlan) -> Any:
    """Release a pandas frame as one Arrow batch."""
    import pyarrow as pa

    columns = [plan.column] if plan.record_column is None else [plan.column, plan.record_column]
    number = "__row__"
    small = part[columns].assign(**{number: range(len(part))})
    batch = pa.RecordBatch.from_pandas(small, preserve_index=False)
    released = release_batch(batch, plan=plan)
    kept = released.column(number).to_pylist()
    return adapted(part).replaced(plan.column, released.column(plan.column), kept)
