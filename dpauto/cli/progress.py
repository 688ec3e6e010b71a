"""Progress bars: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_of_trips", "progress_of_work"]


@contextmanager
def progress_of_trips() -> Iterator[Callable[[int], object]]:
    """Give a function that is told how many more trips are done."""
    if not sys.stderr.isatty():
        yield lambda _rows: None
        return
    from tqdm import tqdm

    # Its watching thread would forbid the run to fork.
    tqdm.monitor_interval = 0
    with tqdm(unit=" trips", leave=False) as bar:
        yield bar.update


@contextmanager
def progress_of_work() -> Iterator[Callable[[str, float], None]]:
    """Give a function that is told what is being done and which share of all is done."""
    if not sys.stderr.isatty():
        yield lambda _doing, _done: None
        return
    from tqdm import tqdm

    with tqdm(total=1.0, bar_format="{desc} {bar} {percentage:3.0f} %", leave=False) as bar:

        def tell(doing: str, done: float) -> None:
            bar.set_description_str(doing)
            bar.update(done - bar.n)

        yield tell
