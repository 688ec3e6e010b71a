"""A real Spark on this machine: the words of one process, also when a Python worker is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpauto import (
    DuplicateRecord,
    InvalidArgument,
    KeyedBits,
    MarkovChain,
    MissingDependency,
    ReleasePlan,
    release_spark,
    release_table,
)

pyspark = pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

CHAIN = MarkovChain(
    states="abcd", transitions={s: {t: 1 / 3 for t in "abcd" if t != s} for s in "abcd"}
)
ROWS = 300


def plan(**options: Any) -> ReleasePlan:
    key = KeyedBits(bytes(range(32)))
    return ReleasePlan(CHAIN, **{"epsilon": 1, "rng": key, "record_column": "id", **options})


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    # Workers are started by Spark, with whichever python3 it finds unless it is told.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        # Two tries for each task, so that a lost Python worker is made up for.
        SparkSession.builder.master("local[2,2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame() -> Any:
    return pd.DataFrame(
        {
            "id": range(ROWS),
            "trip": [CHAIN.sample(3 + k % 9, k % 50) for k in range(ROWS)],
            "note": [f"n{k}" for k in range(ROWS)],
        }
    ).assign(trip=lambda table: table["trip"].map(list))


def test_spark_releases_the_words_of_one_process_though_a_worker_is_killed(
    spark: Any, frame: Any, tmp_path: Path
) -> None:
    once = str(tmp_path / "killed")

    def die_once(batches: Any) -> Any:
        # In the same Python worker as the release that follows, in the middle of its partition.
        for number, batch in enumerate(batches):
            if number == 1:
                try:
                    os.close(os.open(once, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    rows = spark.createDataFrame(frame).repartition(3)
    released = release_spark(rows, plan=plan())
    assert released.schema == rows.schema
    dying = release_spark(rows.mapInArrow(die_once, rows.schema), plan=plan(), check_records=False)
    expected = release_table(frame, plan=plan(), workers=1)
    for result in (released, dying):
        found = result.toPandas().sort_values("id")
        assert found["id"].tolist() == list(range(ROWS))
        assert [list(word) for word in found["trip"]] == expected["trip"].tolist()
        assert found["note"].tolist() == frame["note"].tolist()
    assert os.path.exists(once)


def test_what_spark_must_not_be_given(spark: Any, frame: Any) -> None:
    rows = spark.createDataFrame(frame.head(4))
    with pytest.raises(InvalidArgument, match="one more release"):
        release_spark(rows, plan=plan(rng=None))
    with pytest.raises(InvalidArgument, match="no column 'way'"):
        release_spark(rows, plan=plan(column="way"))
    with pytest.raises(DuplicateRecord, match="column id: an id occurs twice"):
        release_spark(rows.union(rows), plan=plan())


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingDependency, match=r"pip install 'dpauto\[spark\]'"):
        release_spark(None, plan=plan())
