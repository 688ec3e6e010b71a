"""Measuring side by side: rows, interleaved rounds, medians with their spread, peak memory.

Seconds depend on the machine and on what else it does; what two works cost in the same minute on
the same data does not much. So every row runs its works in turn, A B A B …, and states the ratio of
the medians with the smallest and largest ratio of a round.
"""

from __future__ import annotations

import gc
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = [
    "ROWS",
    "Finding",
    "Isolated",
    "Limit",
    "NotHere",
    "Row",
    "Timing",
    "amount",
    "interleave",
    "isolated",
    "need",
    "peak_memory",
    "peer",
    "processor_time",
    "ratio",
    "row",
    "seconds_text",
]

ROUNDS = 5
#: The wall's by default; see `processor_time`.
CLOCK = time.perf_counter


class NotHere(Exception):
    """What a row needs is not on this machine; the message says what and how to get it."""


def need(condition: object, reason: str) -> None:
    """Leave the row out, with the reason, unless `condition` holds."""
    if not condition:
        raise NotHere(reason)


def peer(module: str, package: str) -> Any:
    """Import a module of a package that dpauto is compared with, or leave the row out."""
    try:
        version(package)
        return importlib.import_module(module)
    except PackageNotFoundError:
        raise NotHere(f"{package} is not installed: pip install 'dpauto[benchmarks]'") from None
    except ImportError as error:
        raise NotHere(f"{package} does not import here: {error}") from None


# -- what a row finds -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A figure that should not be exceeded, or should at least be reached."""

    value: float
    at_least: bool = False

    def met(self, figure: float) -> bool:
        """Return whether a figure keeps to the limit."""
        return figure >= self.value if self.at_least else figure <= self.value


@dataclass(frozen=True)
class Finding:
    """One line of the table.

    Attributes
    ----------
    work, against : str
        What was done and what it is compared with.
    figure : float
    unit : str
        "×" for ratios.
    low, high : float, optional
        Smallest and largest figure of a round.
    limit : Limit, optional
    detail : str
        The medians behind the figure, and what else the reader should know.
    """

    work: str
    against: str
    figure: float
    unit: str
    low: float | None = None
    high: float | None = None
    limit: Limit | None = None
    detail: str = ""


@dataclass(frozen=True)
class Row:
    """A named measurement.

    Attributes
    ----------
    name : str
    measure : callable
        Takes the number of rounds and yields findings.
    tiny : mapping
        Arguments that make it a matter of a second, for a test that it still runs.
    """

    name: str
    measure: Callable[..., Iterable[Finding]]
    tiny: Mapping[str, Any]

    @property
    def title(self) -> str:
        """First line of what the measuring function says it does."""
        return (self.measure.__doc__ or "").strip().splitlines()[0].rstrip(".")

    def run(self, rounds: int = ROUNDS, *, tiny: bool = False) -> list[Finding]:
        """Measure; raises `NotHere` if something it needs is missing."""
        return list(self.measure(rounds, **(self.tiny if tiny else {})))


#: Every row whose module has been imported; see `benchmarks.rows`.
ROWS: dict[str, Row] = {}


def row(name: str, **tiny: Any) -> Callable[[Callable[..., Iterable[Finding]]], Any]:
    """Register a function as a row, with arguments that make it tiny."""

    def register(measure: Callable[..., Iterable[Finding]]) -> Any:
        ROWS[name] = Row(name, measure, tiny)
        return measure

    return register


# -- time -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds of one work in every round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.seconds)

    def per(self, count: int) -> Timing:
        """Return the time of one piece of work, where a round holds `count` of them."""
        return Timing(tuple(seconds / count for seconds in self.seconds))

    def __str__(self) -> str:
        return seconds_text(self.median)


def processor_time() -> float:
    """Return the seconds that processors have spent on this process and the ones it has awaited.

    Steadier than the wall's clock where others keep the machine busy, but two processors that work
    for one second count as two.
    """
    import resource

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def interleave(
    rounds: int, *works: Callable[[int], object], repeat: Iterable[int] | None = None
) -> list[Timing]:
    """Time several works in turn.

    Parameters
    ----------
    rounds : int
    *works : callables
        Each is called with the number of the round, so that all meet the same input in a round.
        Round 0 is not timed.
    repeat : iterable of int, optional
        How many calls of each work make one timing, for works that are too short; 1 by default.

    Returns
    -------
    list of Timing
        Seconds of one call, per work.
    """
    calls = list(repeat) if repeat is not None else [1] * len(works)
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for work, count, seconds in zip(works, calls, times, strict=True):
            gc.collect()
            started = CLOCK()
            for _ in range(count):
                work(number)
            if number:
                seconds.append((CLOCK() - started) / count)
    return [Timing(tuple(seconds)) for seconds in times]


def ratio(
    work: str,
    against: str,
    ours: Timing,
    theirs: Timing,
    *,
    limit: Limit | None = None,
    speed_up: bool = False,
    detail: str = "",
) -> Finding:
    """Compare two timings: ours over theirs or, as a speed-up, theirs over ours."""
    up, down = (theirs, ours) if speed_up else (ours, theirs)
    each = [a / b for a, b in zip(up.seconds, down.seconds, strict=True)]
    return Finding(
        work=work,
        against=against,
        figure=up.median / down.median,
        unit="× faster" if speed_up else "×",
        low=min(each),
        high=max(each),
        limit=limit,
        detail=f"{ours} against {theirs}" + (f"; {detail}" if detail else ""),
    )


def amount(
    work: str, values: Iterable[float], unit: str, *, at_most: float | None = None, detail: str = ""
) -> Finding:
    """State the median of what was measured once a round."""
    known = sorted(values)
    return Finding(
        work=work,
        against="",
        figure=statistics.median(known),
        unit=unit,
        low=known[0],
        high=known[-1],
        limit=None if at_most is None else Limit(at_most),
        detail=detail,
    )


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


# -- processes of their own -----------------------------------------------------------------------


@dataclass(frozen=True)
class Isolated:
    """What came out of a process of its own.

    Attributes
    ----------
    value : object
        What the function returned.
    seconds : float
        From start to end, the interpreter's own start included.
    peak : float
        Most resident memory, in MiB.
    """

    value: Any
    seconds: float
    peak: float


def isolated(function: Callable[..., Any], **arguments: Any) -> Isolated:
    """Call a function of this package in a fresh interpreter.

    Parameters
    ----------
    function : callable
        Importable by its name.
    **arguments
        What JSON can carry, as is what the function returns.
    """
    order = json.dumps([function.__module__, function.__qualname__, arguments])
    started = time.perf_counter()
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.harness", order],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
    )
    seconds = time.perf_counter() - started
    value, peak = json.loads(finished.stdout.splitlines()[-1])
    return Isolated(value, seconds, peak)


def peak_memory() -> float:
    """Return the most memory this process has had resident so far, in MiB."""
    import resource

    # Linux hands the parent's peak down to ru_maxrss of a new program; the status file does not.
    for line in _status_lines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _status_lines() -> Iterator[str]:
    status = Path("/proc/self/status")
    if status.exists():
        yield from status.read_text().splitlines()


def _serve(order: str) -> None:
    """Run what `isolated` asked for and print the result as the last line."""
    module, name, arguments = json.loads(order)
    value = getattr(importlib.import_module(module), name)(**arguments)
    print(json.dumps([value, peak_memory()]))


if __name__ == "__main__":
    _serve(sys.argv[1])
