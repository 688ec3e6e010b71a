"""The benchmarks still run, on tiny sizes; what they measure is no test."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# Last, so that the tests go on using the dpauto that is installed.
sys.path.append(str(CHECKOUT))

from benchmarks import calibrated, escalations, report, rows  # noqa: E402
from benchmarks.counting import count_levels  # noqa: E402
from benchmarks.harness import (  # noqa: E402
    Finding,
    Limit,
    NotHere,
    Timing,
    interleave,
    isolated,
    peak_memory,
    peer,
    ratio,
    seconds_text,
)
from benchmarks.workloads import cut_out, epsilon_for, grid, middle  # noqa: E402

ROWS = rows.load()


@pytest.mark.parametrize("name", list(ROWS))
def test_every_row_runs_on_tiny_sizes(name):
    assert ROWS[name].title
    try:
        findings = ROWS[name].run(1, tiny=True)
    except NotHere as missing:
        # Peers are no requirement of the tests; but then the reason must say what to do.
        reason = str(missing)
    else:
        assert findings
        assert all(math.isfinite(f.figure) and f.work and f.detail for f in findings)
        return
    assert "pip install" in reason or "DPAUTO_DATA" in reason


def test_works_are_run_in_turn_and_the_first_round_is_not_timed():
    calls = []
    timings = interleave(
        2, lambda k: calls.append(("a", k)), lambda k: calls.append(("b", k)), repeat=(1, 2)
    )
    assert calls == [(work, k) for k in range(3) for work in ("a", "b", "b")]
    assert [len(timing.seconds) for timing in timings] == [2, 2]


def test_ratio_of_medians_with_the_range_of_rounds():
    ours, theirs = Timing((1.0, 2.0, 9.0)), Timing((4.0, 4.0, 3.0))
    slower = ratio("w", "a", ours, theirs, limit=Limit(0.4))
    assert (slower.figure, slower.low, slower.high) == (0.5, 0.25, 3.0)
    faster = ratio("w", "a", ours, theirs, speed_up=True)
    assert (faster.figure, faster.low, faster.high) == (2.0, 1 / 3, 4.0)
    assert not Limit(0.4).met(slower.figure)
    assert Limit(2.0, at_least=True).met(faster.figure)


def test_memory_is_that_of_the_process_alone():
    idle = isolated(count_levels, states=10, length=4, nothing=True)
    ballast = np.ones(2**25)
    beside = isolated(count_levels, states=10, length=4, nothing=False)
    assert beside.value == 5
    assert peak_memory() > 256
    # A program started by a large process must not seem large itself.
    assert beside.peak < idle.peak + 100
    assert ballast.all()  # kept until here


def test_a_missing_peer_is_named():
    with pytest.raises(NotHere, match="no-such-peer is not installed"):
        peer("no_such_peer", "no-such-peer")


def test_grid_has_four_neighbours_and_no_parity():
    matrix = grid(20)
    degree = np.diff(matrix.indptr)
    assert degree.max() == 5  # (10, 10): four neighbours and (11, 11)
    assert matrix[10 * 20 + 10, 11 * 20 + 11] == 1 / 5
    assert matrix[11 * 20 + 11, 10 * 20 + 10] == 1 / 5
    assert np.allclose(matrix.sum(axis=1), 1)


def test_cut_out_keeps_what_a_trip_can_reach():
    matrix = grid(30)
    part, cells = cut_out(matrix, middle(30), 3)
    assert middle(30) in cells
    assert part.shape == (len(cells),) * 2
    # 25 cells within 3 steps by streets alone; shortcuts may add some.
    assert 25 <= len(cells) <= 30


def test_page_marks_what_was_missed_and_names_what_was_left_out():
    findings = [
        Finding("fast", "slow", 0.5, "×", limit=Limit(1)),
        Finding("slow", "fast", 2.0, "×", low=1.5, high=3, limit=Limit(1)),
    ]
    page = report.page(findings, {"opendp": "not installed"}, rounds=5, before=["a machine"])
    lines = page.splitlines()
    assert "| fast | slow | 0.5 × |  | ≤ 1 × |  |" in lines
    assert "| slow | fast | 2 × | 1.5–3 | ≤ 1 ×: **missed** |  |" in lines
    assert "- opendp: not installed" in lines
    assert "- a machine" in lines


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.34, "12.3 s"), (0.0123, "12.3 ms"), (4.2e-6, "4.2 µs")]
)
def test_times_have_a_unit(seconds, text):
    assert seconds_text(seconds) == text


WORKLOADS = {work.name: work for work in escalations.workloads()}


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_floats_decide_as_good_as_always(name):
    assert escalations.escalated(WORKLOADS[name], 30) == 0


def test_escalations_are_counted_where_floats_are_coarse():
    work = WORKLOADS["permute-and-flip, n = 24"]
    with escalations.coarser_floats(42):
        assert escalations.escalated(work, 3) > 0
    assert escalations.escalated(work, 3) == 0


def test_rows_are_listed_by_name():
    listed = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--list"],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(ROWS)


def test_epsilon_for_an_exponent():
    assert epsilon_for(0.5) == 1
    assert epsilon_for(2, adjacency=3) == 12


def test_rows_of_calibrated_errors(data, monkeypatch):
    monkeypatch.setenv("DPAUTO_DATA", str(data))
    drives = calibrated.words("neighbourhood", 6)[:3]
    (row,) = calibrated.rows("neighbourhood", drives, epsilons=[5], adjacencies=[1])
    found = dict(zip(calibrated.HEADER, row, strict=True))
    plain, flip, best = (float(found[name]) for name in calibrated.HEADER[2:5])
    assert best < flip < plain
    assert float(found["less error"].rstrip(" %")) == pytest.approx(
        100 * (1 - best / flip), abs=0.1
    )
    assert float(found["exponent ×"]) > 1
