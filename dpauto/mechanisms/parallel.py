"""Sharing a batch among processes: SciPy's products hold the interpreter lock."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing.context import BaseContext
from typing import TypeVar

from dpauto.arguments import whole_number

__all__ = ["parse_workers", "process_context", "share"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def parse_workers(workers: int | None) -> int:
    """Return the number of processes: the processors this process may use, if None.

    Raises
    ------
    InvalidArgument
        If `workers` is not a whole number of at least 1.
    """
    if workers is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    return whole_number(workers, name="workers")


def process_context() -> BaseContext:
    """Return how to start processes.

    Forking costs milliseconds, a fresh interpreter nearly a second; but a process with other
    threads must not be forked.
    """
    can_fork = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    return multiprocessing.get_context("fork" if can_fork else "spawn")


def share(
    function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], workers: int
) -> list[Result]:
    """Return ``function(items)``, computed in parts by several processes, in order.

    `function` must give each item the same result whatever the part it comes in.
    """
    if workers == 1 or len(items) < 2:
        return function(items)
    context = process_context()
    bounds = [len(items) * k // workers for k in range(workers + 1)]
    parts = [items[lo:hi] for lo, hi in itertools.pairwise(bounds) if hi > lo]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(len(parts), mp_context=context) as pool:
        return [result for part in pool.map(function, parts) for result in part]
