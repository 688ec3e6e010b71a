"""Pools of processes: they end at once, also where an executor would wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from dpauto.mechanisms.parallel import Pool, share

#: Two interrupts in a row: the second comes while the first ends the processes.
INTERRUPTED = """
import time
from dpauto.mechanisms.parallel import share

def sleep(seconds):
    time.sleep(seconds[0])
    return seconds

def main():
    print("ready", flush=True)
    try:
        share(sleep, [60, 60], 2)
    except KeyboardInterrupt:
        raise SystemExit(130)

main()
"""


def double(numbers: Sequence[int]) -> list[int]:
    return [2 * number for number in numbers]


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def fail(numbers: Sequence[int]) -> list[int]:
    raise ValueError("broken")


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_parts_come_back_in_order(workers: int) -> None:
    assert share(double, range(7), workers) == double(range(7))


def test_an_error_in_a_process_comes_out() -> None:
    with pytest.raises(ValueError, match="broken"):
        share(fail, range(4), 2)


def test_closing_does_not_wait_for_what_is_at_work() -> None:
    pool = Pool(2)
    for _ in range(5):
        pool.submit(sleep, 60)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 30


@pytest.mark.skipif(os.name != "posix", reason="interrupts a process group, as terminals do")
@pytest.mark.parametrize("interrupts", [1, 2])
def test_interrupts_end_it(interrupts: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            time.sleep(1)
            for _ in range(interrupts):
                os.killpg(running.pid, signal.SIGINT)
                time.sleep(0.002)
            running.communicate(timeout=30)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode in (130, 1, -signal.SIGINT)
