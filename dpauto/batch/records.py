"""Record ids that were seen: as digests, sixteen bytes each, however long the ids."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpauto.errors import DuplicateRecord

__all__ = ["SeenRecords", "id_occurs_twice"]


def id_occurs_twice(column: str) -> DuplicateRecord:
    """Return the error for a column of ids in which one occurs twice, wherever that is found."""
    return DuplicateRecord(
        f"column {column}: an id occurs twice; two trips of one id would share their random bits"
    )


class SeenRecords:
    """A set of ids that only grows, in little memory.

    Digests are kept in sorted arrays whose sizes at least double, so an id is compared with few
    of them and moved few times.

    Examples
    --------
    >>> seen = SeenRecords()
    >>> seen.add(["a", "b"]), seen.add(["c", "a", "c"]), seen.add(["d", "d"])
    (None, 1, 1)
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.bytes_]] = []

    def add(self, records: Sequence[str]) -> int | None:
        """Add ids; return the index of the first that was there before, or None."""
        digests = [
            hashlib.blake2b(record.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for record in records
        ]
        fresh = np.array(digests, dtype="S16")
        old = np.zeros(len(fresh), dtype=bool)
        for run in self._runs:
            place = np.searchsorted(run, fresh)
            old |= run[np.minimum(place, len(run) - 1)] == fresh
        distinct, first = np.unique(fresh, return_index=True)
        repeated = np.ones(len(fresh), dtype=bool)
        repeated[first] = False
        self._keep(distinct)
        found = np.flatnonzero(old | repeated)
        return int(found[0]) if found.size else None

    def _keep(self, run: NDArray[np.bytes_]) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.concatenate((self._runs.pop(), run))
            run.sort()
        if len(run):
            self._runs.append(run)
