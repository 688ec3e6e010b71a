"""Whole tables of words: in blocks, resumable, on several processes or a cluster.

`ReleasePlan` says what is done to each word. `release_batch` does it to an Arrow record batch,
`release_table` to a frame, `release_trips` to the rows of a file, and `release_dask` and
`release_spark` to what lies on a cluster. All of them go through one engine, which groups words by
length and compiles each length once in a process.
"""

from dpauto.batch.batches import release_batch
from dpauto.batch.choice import MechanismChoice
from dpauto.batch.comparing import TripTable, compare_trips
from dpauto.batch.dask import DaskWorkers, release_dask
from dpauto.batch.frames import release_table
from dpauto.batch.journal import Journal
from dpauto.batch.ledger import Ledger
from dpauto.batch.observed import ObservedModel
from dpauto.batch.plan import ReleasePlan
from dpauto.batch.running import Outcome, release_trips
from dpauto.batch.spark import release_spark

__all__ = [
    "DaskWorkers",
    "Journal",
    "Ledger",
    "MechanismChoice",
    "ObservedModel",
    "Outcome",
    "ReleasePlan",
    "TripTable",
    "compare_trips",
    "release_batch",
    "release_dask",
    "release_spark",
    "release_table",
    "release_trips",
]
