"""A real Dask cluster: the words of one process, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpauto import KeyedBits, MarkovChain, ReleasePlan, release_dask, release_table
from dpauto.batch import DaskWorkers, release_trips, running
from dpauto.errors import (
    DuplicateRecord,
    InvalidArgument,
    InvalidWord,
    MissingDependency,
    UnknownSymbol,
)
from dpauto.formats import open_trips

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

CHAIN = MarkovChain(
    states="abcd", transitions={s: {t: 1 / 3 for t in "abcd" if t != s} for s in "abcd"}
)
ROWS = 1500


def plan(**options: Any) -> ReleasePlan:
    key = KeyedBits(bytes(range(32)))
    return ReleasePlan(CHAIN, **{"epsilon": 1, "rng": key, "record_column": "id", **options})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as found:
        yield found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dask") / "t.csv"
    rows = [f"{k},{' '.join(CHAIN.sample(3 + k % 20, k % 50))}\n" for k in range(ROWS)]
    path.write_text("id,trip\n" + "".join(rows))
    return path


def released(table: Path, out: Path, workers: Any, chosen: ReleasePlan, **options: Any) -> bytes:
    with (
        open_trips(str(table), record_column="id", records=True) as trips,
        out.open("wb") as sink,
    ):
        release_trips(trips, trips.writer(sink), chosen, workers=workers, **options)
    return out.read_bytes()


def test_a_cluster_releases_the_words_of_one_process_though_a_worker_is_killed(
    cluster: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "BLOCK_ROWS", 40)
    chosen = plan()
    one = released(table, tmp_path / "one.csv", 1, chosen)
    with distributed.Client(cluster, set_as_default=False) as client:
        victims = list(client.run(os.getpid).values())
    killed: list[int] = []

    def kill(_: int) -> None:
        if not killed:
            killed.append(victims[0])
            os.kill(victims[0], signal.SIGKILL)

    with DaskWorkers(chosen, cluster.scheduler_address) as workers:
        many = released(table, tmp_path / "many.csv", workers, chosen, advance=kill)
    assert killed
    assert many == one
    assert many.count(b"\n") == 1 + ROWS


def test_errors_and_skipped_rows_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,trip\n1,a b\n2,a hidden\n3,\n4,c a\n")
    stops, skips = plan(), plan(on_error="skip")
    with (
        DaskWorkers(stops, cluster.scheduler_address) as workers,
        pytest.raises(UnknownSymbol, match="row 3, column trip: the symbol at position 2"),
    ):
        released(path, tmp_path / "o.csv", workers, stops)
    with DaskWorkers(skips, cluster.scheduler_address) as workers:
        many = released(path, tmp_path / "many.csv", workers, skips)
    assert many == released(path, tmp_path / "one.csv", 1, skips)


def test_frames_on_a_cluster(cluster: Any) -> None:
    pd: Any = pytest.importorskip("pandas")
    dd: Any = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(
        {
            "id": range(60),
            "trip": [" ".join(CHAIN.sample(2 + k % 5, k)) for k in range(60)],
            "note": [f"n{k}" for k in range(60)],
        }
    )
    with distributed.Client(cluster):
        lazy = release_dask(dd.from_pandas(frame, npartitions=4), plan=plan())
        found = lazy.compute()
    expected = release_table(frame, plan=plan(), workers=1)
    assert found["trip"].tolist() == expected["trip"].tolist() != frame["trip"].tolist()
    assert found["note"].tolist() == frame["note"].tolist()
    with pytest.raises(InvalidArgument, match="one more release"):
        release_dask(dd.from_pandas(frame, npartitions=4), plan=plan(rng=None))


@pytest.mark.parametrize("ids", [[1, 2, 3, 4, 5, 1], ["a", "b", "a", "c", "d", "e"], [1, "1", 2]])
def test_an_id_that_occurs_in_two_partitions_is_found(cluster: Any, ids: list[Any]) -> None:
    pd: Any = pytest.importorskip("pandas")
    dd: Any = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "trip": ["a b a"] * len(ids)})
    with distributed.Client(cluster):
        parts = dd.from_pandas(frame, npartitions=3)
        with pytest.raises(DuplicateRecord, match="column id: an id occurs twice"):
            release_dask(parts, plan=plan())
        # Whoever knows better may save the computation.
        release_dask(parts, plan=plan(), check_records=False)
        with pytest.raises(InvalidArgument, match="no column 'trip'; the columns are id, walk"):
            release_dask(parts.rename(columns={"trip": "walk"}), plan=plan())


def test_ids_that_are_missing_are_not_taken_for_equal(cluster: Any) -> None:
    pd: Any = pytest.importorskip("pandas")
    dd: Any = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"id": ["x", None, "y", None], "trip": ["a b a"] * 4})
    with distributed.Client(cluster):
        lazy = release_dask(dd.from_pandas(frame, npartitions=2), plan=plan())
        with pytest.raises(InvalidWord, match="column id: the id is missing"):
            lazy.compute()


def test_a_cluster_of_this_machine_from_the_command_line(run: Any, table: Path) -> None:
    (run.folder / "key").write_bytes(bytes(range(32)))
    table = run.folder / "t.csv"
    table.write_text("id,trip\n" + "".join(f"{k},a b a b c\n" for k in range(30)))
    command = ["release", "t.csv", "--model", "all:abc", "--epsilon", "1"]
    keyed = [*command, "--key-file", "key", "--id", "id"]
    assert run(*keyed, "-o", "one.csv") == 0
    assert run(*keyed, "--dask", "local", "-o", "many.csv") == 0
    one, many = ((run.folder / name).read_bytes() for name in ("one.csv", "many.csv"))
    assert one == many
    assert run(*command, "--dask", "local", "-o", "x.csv") == 2
    assert "give a key and ids" in run.err
    assert run(*keyed, "--dask", "nowhere", "-o", "x.csv") == 2
    assert run.err.count("\n") == 1
    assert "x.csv" not in run.names()


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependency, match=r"pip install 'dpauto\[dask\]'"):
        DaskWorkers(plan(), "local")
