"""Whole tables of trips: blocks of rows through a plan, in order and in bounded memory.

Rows come from a `TripSource` in blocks. The words of a block are released by whoever does the work,
while the next blocks are already being read, and written back in the order in which they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from dpauto.batch.engine import Block, Result, TripError, place_of
from dpauto.batch.journal import Journal
from dpauto.batch.ledger import Ledger
from dpauto.batch.plan import ReleasePlan
from dpauto.batch.records import SeenRecords
from dpauto.batch.workers import Pending, Processes, Workers
from dpauto.errors import (
    BudgetExceeded,
    DuplicateRecord,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
)
from dpauto.formats.trips import Trip, TripSource, TripWriter

__all__ = ["Outcome", "release_trips"]

#: Rows and symbols of a block.
BLOCK_ROWS = 4096
BLOCK_SYMBOLS = 1_000_000


@dataclass
class Outcome:
    """What became of a table.

    Attributes
    ----------
    released : int
        Trips that were released.
    skipped : list of int
        Rows that could not be released and were left out.
    lengths : set of int
        The lengths that occurred; they are published.
    """

    released: int = 0
    skipped: list[int] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)


def _ignore(rows: int) -> None:
    """Take notice of nothing."""


def release_trips(
    trips: TripSource,
    writer: TripWriter,
    plan: ReleasePlan,
    *,
    workers: Workers | int | None = None,
    journal: Journal | None = None,
    ledger: Ledger | None = None,
    advance: Callable[[int], object] = _ignore,
) -> Outcome:
    r"""Release every trip of a source and write the rows in their order.

    Parameters
    ----------
    trips : TripSource
    writer : TripWriter
        The source's own.
    plan : ReleasePlan
    workers : Workers or int, optional
        Who does the work: so many processes, by default one per processor once there is enough to
        do. The result does not depend on it.
    journal : Journal, optional
        Where released blocks are kept, and taken from when the run before was interrupted.
    ledger : Ledger, optional
        Charged for every release; the source then has to tell the subjects.
    advance : callable of int, optional
        Told how many more rows are done.

    Returns
    -------
    Outcome

    Raises
    ------
    InvalidWord, UnknownSymbol, EmptyLanguage
        If a trip is empty, has a symbol that the model does not know or a length of which no word
        is feasible, and the plan does not skip. File and row are named, never the symbol.
    BudgetExceeded
        If a subject cannot afford a release, and the plan does not skip.
    DuplicateRecord
        If two rows have one id.
    InvalidFile
        If the source is damaged.

    Examples
    --------
    >>> import io
    >>> from dpauto import ReleasePlan
    >>> from dpauto.formats.trips import Separator, TextTrips
    >>> trips = TextTrips(
    ...     io.StringIO("a b a\n# a comment\nb\n"), "trips", after=None, separator=Separator(None)
    ... )
    >>> out = io.BytesIO()
    >>> release_trips(trips, trips.writer(out), ReleasePlan("all:ab", epsilon=50)).released
    2
    >>> out.getvalue()
    b'a b a\n# a comment\nb\n'
    """
    with ExitStack() as stack:
        if not isinstance(workers, Workers):
            workers = Processes(plan, workers)
            stack.callback(workers.close)
        run = _Run(trips, writer, plan, workers, journal, ledger)
        waiting: deque[tuple[_Rows, Pending]] = deque()
        for rows in _blocks(trips):
            waiting.append((rows, run.begin(rows)))
            if len(waiting) > workers.ahead:
                advance(run.finish(*waiting.popleft()))
        while waiting:
            advance(run.finish(*waiting.popleft()))
    writer.close()
    run.outcome.skipped.sort()
    return run.outcome


@dataclass(slots=True)
class _Rows:
    """Some rows of a table, and the words among them that are to be released."""

    trips: list[Trip]
    #: Indices of the rows that hold words, and of those that may be released.
    words: list[int]
    affordable: list[int] = field(default_factory=list)
    recalled: bool = False


class _Run:
    """One run over one source."""

    def __init__(
        self,
        trips: TripSource,
        writer: TripWriter,
        plan: ReleasePlan,
        workers: Workers,
        journal: Journal | None,
        ledger: Ledger | None,
    ) -> None:
        self.outcome = Outcome()
        self._trips, self._writer, self._plan, self._workers = trips, writer, plan, workers
        self._journal, self._ledger = journal, ledger
        self._seen = SeenRecords()
        self._checked = False
        self._digest = plan.digest() if ledger is not None and plan.keyed else b""

    def begin(self, rows: _Rows) -> Pending:
        """Check rows, charge for them and start their release."""
        if not self._checked:
            self._check_symbols(rows)
        self._check_records(rows)
        whole = self._block(rows, rows.words)
        if self._journal is not None:
            recalled = self._journal.recall(whole)
            if recalled is not None:
                rows.recalled = True
                rows.affordable = rows.words
                return lambda: recalled
        rows.affordable = rows.words if self._ledger is None else self._charge(rows, self._ledger)
        if len(rows.affordable) == len(rows.words):
            return self._workers.submit(whole)
        return self._workers.submit(self._block(rows, rows.affordable))

    def _block(self, rows: _Rows, indices: list[int]) -> Block:
        trips = [rows.trips[k] for k in indices]
        records = None
        if self._plan.record_column is not None:
            records = [trip.record or "" for trip in trips]
        return Block([trip.row for trip in trips], [trip.texts or [] for trip in trips], records)

    def _check_symbols(self, rows: _Rows) -> None:
        """Refuse a model whose words could not be written, as soon as one length is feasible."""
        for length in sorted({len(rows.trips[k].texts or ()) for k in rows.words} - {0}):
            try:
                texts = self._plan.engine.texts(length)
            except EmptyLanguage:
                continue
            self._trips.check_symbols(texts)
            self._checked = True
            return

    def _check_records(self, rows: _Rows) -> None:
        if self._plan.record_column is None:
            return
        for k in rows.words:
            if not rows.trips[k].record:
                raise InvalidWord(
                    f"{self._trips.name}, row {rows.trips[k].row}: its id is missing, and a keyed"
                    " release needs one"
                )
        found = self._seen.add([rows.trips[k].record or "" for k in rows.words])
        if found is not None:
            raise DuplicateRecord(
                f"{self._trips.name}, row {rows.trips[rows.words[found]].row}: its id occurred"
                " before; two trips of one id would share their random bits (in long form, let the"
                " rows of an id stand together)"
            )

    # -- the ledger -------------------------------------------------------------------------------

    def _charge(self, rows: _Rows, ledger: Ledger) -> list[int]:
        """Charge for the words that can be released; return all but those beyond a budget."""
        epsilon = self._plan.privacy.epsilon
        problems = self._plan.engine.problems(self._block(rows, rows.words))
        sound = [k for place, k in enumerate(rows.words) if place not in problems]
        allowed = ledger.charge(self._subjects(rows, sound), epsilon, self._releases(rows, sound))
        refused = [k for k, may in zip(sound, allowed, strict=True) if not may]
        if refused and not self._plan.skips:
            row = rows.trips[refused[0]].row
            raise BudgetExceeded(
                f"{self._trips.name}, row {row}: its subject has less than {epsilon} left of the"
                f" budget of {ledger.budget}; --on-error skip leaves such trips out"
            )
        beyond = set(refused)
        return [k for k in rows.words if k not in beyond]

    def _subjects(self, rows: _Rows, indices: list[int]) -> list[str]:
        subjects = []
        for k in indices:
            subject = rows.trips[k].subject
            if subject is None:
                raise InvalidArgument(
                    f"{self._trips.name}, row {rows.trips[k].row}: the trip has no subject to"
                    " charge"
                )
            subjects.append(subject)
        return subjects

    def _releases(self, rows: _Rows, indices: list[int]) -> list[bytes] | None:
        """What identifies keyed releases: all that their bits depend on, sealed with the key."""
        if not self._plan.keyed:
            return None
        trips = [rows.trips[k] for k in indices]
        return [
            self._plan.seal("charge", self._digest, trip.record, tuple(trip.texts or ()))
            for trip in trips
        ]

    # -- results ----------------------------------------------------------------------------------

    def finish(self, rows: _Rows, pending: Pending) -> int:
        """Wait for the release of rows and write them; return how many there were."""
        results = dict(zip(rows.affordable, pending(), strict=True))
        failed = [k for k, result in results.items() if not isinstance(result, list)]
        for k in failed:
            self._fail(rows.trips[k], results[k])
        if self._journal is not None and not rows.recalled:
            self._remember(rows, results)
        self.outcome.skipped += [
            rows.trips[k].row for k in rows.words if not isinstance(results.get(k), list)
        ]
        for k, trip in enumerate(rows.trips):
            result = results.get(k)
            if trip.texts is None:
                self._writer.write(trip, None)
            elif isinstance(result, list):
                self._writer.write(trip, result)
                self.outcome.released += 1
                self.outcome.lengths.add(len(result))
        return len(rows.trips)

    def _remember(self, rows: _Rows, results: dict[int, Result]) -> None:
        if self._journal is not None:
            refused = InvalidWord("")
            self._journal.remember(
                self._block(rows, rows.words), [results.get(k, refused) for k in rows.words]
            )

    def _fail(self, trip: Trip, error: Result | TripError) -> None:
        if isinstance(error, list) or self._plan.skips:
            return
        raise type(error)(f"{place_of(self._trips, trip)}: {error}") from None


def _blocks(trips: Iterable[Trip]) -> Iterator[_Rows]:
    block: list[Trip] = []
    words: list[int] = []
    symbols = 0
    for trip in trips:
        if trip.texts is not None:
            words.append(len(block))
            symbols += len(trip.texts)
        block.append(trip)
        if len(block) >= BLOCK_ROWS or symbols >= BLOCK_SYMBOLS:
            yield _Rows(block, words)
            block, words, symbols = [], [], 0
    if block:
        yield _Rows(block, words)
