"""Sharing a batch among processes: SciPy's products hold the interpreter lock."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dpauto.arguments import whole_number

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext

__all__ = ["Pool", "parse_workers", "process_context", "share"]

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
    import multiprocessing

    can_fork = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    return multiprocessing.get_context("fork" if can_fork else "spawn")


class Pool:
    """Processes that stop at once when they are told to, and never outlive this one.

    An executor of the standard library waits for what its processes are at, and a second interrupt
    while it waits can leave both sides waiting for each other for ever.

    Parameters
    ----------
    workers : int
    begin : callable, optional
        Called with `given` in each process before anything else.
    *given
        Arguments of `begin`.
    """

    def __init__(self, workers: int, begin: Callable[..., object] | None = None, *given: Any):
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing.util import Finalize

        context = process_context()
        ending, end = context.Pipe(duplex=False)
        self._ending = ending
        # Also runs when the interpreter exits, before that waits for the processes.
        self._end = Finalize(self, end.send_bytes, args=(b"end",), exitpriority=10)
        self._executor = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start, initargs=(ending, begin, given)
        )

    def submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Begin to compute ``function(item)``; raises BrokenProcessPool if a process was killed."""
        return self._executor.submit(function, item)

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._end()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._ending.close()


def _start(ending: Connection, begin: Callable[..., object] | None, given: tuple[Any, ...]) -> None:
    """Make a process ready: it leaves interrupts to its parent, and ends when told or orphaned."""
    import multiprocessing

    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        watched = [parent.sentinel, ending]
        threading.Thread(target=_follow, args=(watched,), daemon=True).start()
    if begin is not None:
        begin(*given)


def _follow(watched: list[Any]) -> None:
    from multiprocessing.connection import wait

    # Nobody reads what the pipe holds: every process of the pool has to see it.
    wait(watched)
    os._exit(1)


def share(
    function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], workers: int
) -> list[Result]:
    """Return ``function(items)``, computed in parts by several processes, in order.

    `function` must give each item the same result whatever the part it comes in.
    """
    if workers == 1 or len(items) < 2:
        return function(items)
    bounds = [len(items) * k // workers for k in range(workers + 1)]
    parts = [items[lo:hi] for lo, hi in itertools.pairwise(bounds) if hi > lo]
    pool = Pool(len(parts))
    try:
        pending = [pool.submit(function, part) for part in parts]
        return [result for part in pending for result in part.result()]
    finally:
        pool.close()
