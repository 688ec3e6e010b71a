"""Who releases the blocks of a run: this process, or others that stay alive over the whole run."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeAlias, runtime_checkable

from dpauto.batch.engine import Block, Result
from dpauto.batch.plan import ReleasePlan
from dpauto.errors import InvalidWord
from dpauto.mechanisms.parallel import Pool, parse_workers

__all__ = ["Pending", "Processes", "Workers", "in_parts"]

#: Seconds of work after which a table is worth other processes: they take about as long to start.
PATIENCE = 0.5

#: Gives the results of a block when they are there.
Pending: TypeAlias = Callable[[], list[Result]]


@runtime_checkable
class Workers(Protocol):
    """Takes blocks and gives their results.

    Attributes
    ----------
    ahead : int
        How many blocks to hand over before the first is asked for.
    """

    ahead: int

    def submit(self, block: Block) -> Pending:
        """Begin to release a block."""

    def close(self) -> None:
        """Stop whatever is still at work."""


def in_parts(block: Block, begin: Callable[[Block], Pending]) -> Pending:
    """Begin to release a block in parts that can go to several workers: words of one length."""
    parts = [(indices, begin(block.part(indices))) for indices in block.lengths()]

    def collect() -> list[Result]:
        results: list[Result] = [InvalidWord("")] * len(block.words)
        for indices, part in parts:
            for index, result in zip(indices, part(), strict=True):
                results[index] = result
        return results

    return collect


class Processes:
    """Releases in this process, and in a pool of others as soon as there is much to do.

    Parameters
    ----------
    plan : ReleasePlan
    workers : int, optional
        Processes; by default one per processor. With 1, everything happens in this one.

    Raises
    ------
    InvalidArgument
        If `workers` is not a whole number of at least 1.
    """

    ahead = 2

    def __init__(self, plan: ReleasePlan, workers: int | None = None) -> None:
        self._plan = plan
        self._workers = parse_workers(workers)
        self._pool: Pool | None = None
        self._spent = 0.0

    def submit(self, block: Block) -> Pending:
        """Begin to release a block."""
        return in_parts(block, self._begin)

    def _begin(self, part: Block) -> Pending:
        if self._pool is None and (self._workers == 1 or self._spent < PATIENCE):
            return self._here(part)
        if self._pool is None:
            self._pool = Pool(self._workers, _start, self._plan)
        try:
            future = self._pool.submit(_release, part)
        except BrokenProcessPool:
            return self._here(part)
        return lambda: self._await(future, part)

    def _here(self, part: Block) -> Pending:
        started = time.monotonic()
        results = self._plan.engine.release(part)
        self._spent += time.monotonic() - started
        return lambda: results

    def _await(self, future: Future[list[Result]], part: Block) -> list[Result]:
        try:
            return future.result()
        except BrokenProcessPool:
            # A process was killed, and its release never left it. One process goes on.
            self._workers, self._pool = 1, None
            return self._here(part)()

    def close(self) -> None:
        """End the pool without waiting for what nobody asks for any more."""
        if self._pool is not None:
            self._pool.close()


_plan: ReleasePlan | None = None


def _start(plan: ReleasePlan) -> None:
    global _plan  # noqa: PLW0603 -- what a pool's initializer is for
    _plan = plan


def _release(part: Block) -> list[Result]:
    if _plan is None:
        raise RuntimeError("the process was not started for a plan")
    return _plan.engine.release(part)
