"""``dpauto release``: the main job."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from dpauto.cli import options
from dpauto.cli.progress import progress_of_trips
from dpauto.errors import DpautoError, InvalidArgument

if TYPE_CHECKING:
    from dpauto.batch import Outcome, ReleasePlan
    from dpauto.formats.trips import TripSource
    from dpauto.randomness import BitSource

__all__ = ["command"]

#: Random feasible words that a warning rests on: enough to tell "most", and quick.
WARNING_SAMPLES = 25


@dataclass(frozen=True)
class _Around:
    """What a run has around it: a journal, a ledger, other processes."""

    resume: bool
    ledger: str | None
    subject: str | None
    budget: str | None
    workers: int | None
    dask: str | None

    def check(self, *, repeatable: bool) -> None:
        """Refuse options that do not go together.

        Raises
        ------
        InvalidArgument
            If some do not.
        """
        if not (self.ledger is None) == (self.subject is None) == (self.budget is None):
            raise InvalidArgument("--ledger, --subject and --budget go together")
        if self.resume and not repeatable:
            raise InvalidArgument("--resume needs --key-file: only then is no trip released twice")
        if self.workers is not None and self.dask is not None:
            raise InvalidArgument("--workers and --dask exclude each other")


@click.command("release", short_help="Release trips privately.")
@click.argument("trips", metavar="TRIPS")
@options.model_option
@options.epsilon_option
@options.adjacency_option
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="OUT",
    help="The released trips, in the form of TRIPS. By default standard output.",
)
@options.mechanism_option
@options.costs_option
@options.certificate_option
@click.option(
    "--seed", type=int, metavar="N", help="Make the same releases again; they are then not private."
)
@click.option(
    "--key-file",
    metavar="FILE",
    help="Secret key of at least 16 bytes: asked twice, the same id gets the same release.",
)
@click.option(
    "--id",
    "record_column",
    metavar="COLUMN",
    help="The trips' ids, with --key-file or --position.",
)
@click.option(
    "--position",
    metavar="COLUMN",
    help="For tables with a row for each symbol: what orders the symbols of a trip. --column is"
    " then that of the symbols; rows with one --id stand together.",
)
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do with a trip that cannot be released; skip leaves it out.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep a journal beside OUT, and go on where an interrupted run of this command stopped.",
)
@click.option("--ledger", metavar="FILE", help="SQLite file of what each person has spent so far.")
@click.option("--subject", metavar="COLUMN", help="With --ledger: whose trips they are.")
@click.option("--budget", metavar="E", help="With --ledger: what each person may spend in all.")
@click.option(
    "--workers", type=int, metavar="N", help="Processes to use; by default one per processor."
)
@click.option(
    "--dask", metavar="ADDRESS", help="Release on a Dask cluster: its scheduler, or 'local'."
)
@options.trips_options
@options.reading_options
@options.model_options
def command(
    *,
    trips: str,
    model: str,
    output: str,
    seed: int | None,
    key_file: str | None,
    record_column: str | None,
    position: str | None,
    trips_format: str | None,
    column: str,
    after: str | None,
    separator: str | None,
    **others: Any,
) -> None:
    """Release every trip of TRIPS: replace it by a random feasible word near it.

    Each release is EPSILON-differentially private for words within B substitutions. Budgets add up
    over all releases that concern one person. The LENGTH of every word is published, and so are
    comments, other columns and what stands before --after. MODEL, EPSILON and B are public: choose
    them without looking at the trips.

    In text, a trip is a line of symbols separated by white space; lines that start with # or %
    are copied. In tables, the column "trip" is replaced and the others are copied; with --position
    a row is one symbol. In event logs (XES) a trip is the sequence of a trace's activities; OUT has
    the traces' names and nothing else. OUT is written beside its place and renamed when it is
    complete.

    \b
    dpauto release trips.csv --model roads.csv --epsilon 3 --adjacency 2 -o private.csv
    dpauto release walks.txt --after : --model edges.csv.gz --states links --epsilon 5 -o out.txt
    dpauto release log.csv --id case --position time --column activity --model steps.csv --epsilon 5
    """
    from dpauto.formats import open_trips

    keyed = key_file is not None
    if record_column is not None and not keyed and position is None:
        raise InvalidArgument("--id names the ids of a keyed release; give --key-file too")
    around = _Around(**{field.name: others.pop(field.name) for field in fields(_Around)})
    around.check(repeatable=keyed or seed is not None)
    inputs = trips, model, key_file, others["costs"], others["certificate"], around.ledger
    options.keep_inputs(output, *inputs)
    reading: dict[str, Any] = {"column": column, "after": after, "separator": separator}
    source = _bits(seed, key_file)
    with open_trips(
        trips,
        format=trips_format,
        record_column=record_column,
        subject_column=around.subject,
        position_column=position,
        records=keyed,
        **reading,
    ) as rows:
        _check_suffix(output, trips, trips_format)
        # Where there are no columns, the id stands before --after or in a trace's name.
        ids = record_column or (after or "name" if keyed else None)
        plan = _plan(model, rng=source, record_column=ids, **reading, **others)
        outcome = _run(rows, plan, output, around)
    if not outcome.released and not outcome.skipped:
        print(f"dpauto: there is no trip in {trips}", file=sys.stderr)
    _report(outcome, seed)
    _warn_of_empty_neighbourhoods(outcome, plan)


def _warn_of_empty_neighbourhoods(outcome: Outcome, plan: ReleasePlan) -> None:
    """Say so when most feasible words of the shortest length have nobody to hide among.

    Lengths are published and the words looked at are random ones with a public seed, so the warning
    tells nothing about the trips.
    """
    from dpauto.accuracy import sampled_neighbours

    if not outcome.lengths:
        return
    length, adjacency = min(outcome.lengths), plan.privacy.adjacency
    try:
        language = plan.engine.mechanism(length).language
    except DpautoError:
        # All trips of this length were left out, and the report has said so.
        return
    if sampled_neighbours(language, adjacency=adjacency, samples=WARNING_SAMPLES).nearly_empty:
        print(
            f"dpauto: the guarantee is nearly empty: most feasible words of length {length} have no"
            f" other within {adjacency}; take a larger --adjacency (dpauto show tells more)",
            file=sys.stderr,
        )


def _check_suffix(output: str, trips: str, chosen: str | None) -> None:
    """Refuse to give the releases a name that tells another format than the trips'."""
    from dpauto.formats.tripfiles import trip_format

    named, kind = trip_format(output), trip_format(trips, chosen)
    if named not in ("text", kind):
        raise InvalidArgument(
            f"{output}: the suffix tells {named}, but the releases are {kind}, as the trips are"
        )


def _plan(
    model: str,
    *,
    rng: BitSource,
    record_column: str | None,
    column: str,
    epsilon: str,
    adjacency: int,
    mechanism: str,
    costs: str | None,
    certificate: str | None,
    on_error: str,
    separator: str | None,
    **reading: Any,
) -> ReleasePlan:
    from dpauto.batch import ReleasePlan

    return ReleasePlan(
        options.read(model, separator=separator, **reading),
        epsilon=epsilon,
        adjacency=adjacency,
        mechanism=mechanism,
        costs=costs,
        certificate=certificate,
        rng=rng,
        column=column,
        record_column=record_column,
        separator=separator,
        on_error=on_error,
    )


def _run(
    rows: TripSource,
    plan: ReleasePlan,
    output: str,
    around: _Around,
) -> Outcome:
    """Release with everything that was asked for around it, each closed in its turn."""
    from dpauto.batch import DaskWorkers, Journal, Ledger, release_trips
    from dpauto.outputs import writing

    with ExitStack() as stack:
        journal = stack.enter_context(Journal(output, plan)) if around.resume else None
        book = None
        if around.ledger is not None:
            book = stack.enter_context(Ledger(around.ledger, budget=around.budget or ""))
            if output != "-" and journal is None:
                stack.enter_context(book.all_or_nothing())
        helpers: Any = around.workers
        if around.dask is not None:
            helpers = stack.enter_context(DaskWorkers(plan, around.dask))
        with (
            writing(output, beside=None if journal is None else journal.beside) as out,
            progress_of_trips() as advance,
        ):
            outcome = release_trips(
                rows,
                rows.writer(out),
                plan,
                workers=helpers,
                journal=journal,
                ledger=book,
                advance=advance,
            )
        if journal is not None:
            journal.finish()
    return outcome


def _bits(seed: int | None, key_file: str | None) -> BitSource:
    from dpauto.formats.files import open_bytes
    from dpauto.randomness import KeyedBits, SeededBits, SystemBits

    if key_file is not None:
        if seed is not None:
            raise InvalidArgument("--seed and --key-file exclude each other")
        with open_bytes(key_file) as raw:
            key = raw.read()
        try:
            return KeyedBits(key)
        except InvalidArgument as error:
            raise InvalidArgument(f"{key_file}: {error}") from None
    return SystemBits() if seed is None else SeededBits(seed)


def _report(outcome: Outcome, seed: int | None) -> None:
    if outcome.skipped:
        rows = ", ".join(map(str, outcome.skipped[:10]))
        more = f" and {len(outcome.skipped) - 10} more" if len(outcome.skipped) > 10 else ""
        total = outcome.released + len(outcome.skipped)
        print(
            f"dpauto: left out {len(outcome.skipped)} of {total} trips: rows {rows}{more}",
            file=sys.stderr,
        )
    if seed is not None:
        print(
            "dpauto: the output is NOT private: its random bits come from --seed", file=sys.stderr
        )
