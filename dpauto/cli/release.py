"""``dpauto release``: the main job."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dpauto.cli import options
from dpauto.cli.progress import progress_of_trips
from dpauto.errors import InvalidArgument

if TYPE_CHECKING:
    from dpauto.batch import Outcome
    from dpauto.randomness import BitSource

__all__ = ["command"]


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
@click.option("--id", "record_column", metavar="COLUMN", help="With --key-file: the trips' ids.")
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do with a trip that cannot be released; skip leaves it out.",
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
    on_error: str,
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
    are copied. In tables, the column "trip" is replaced and the others are copied. OUT is written
    beside its place and renamed when it is complete.

    \b
    dpauto release trips.csv --model roads.csv --epsilon 3 --adjacency 2 -o private.csv
    dpauto release walks.txt --after : --model edges.csv.gz --states links --epsilon 5 -o out.txt
    """
    from dpauto.formats import open_trips
    from dpauto.formats.files import writing

    keyed = key_file is not None
    if record_column is not None and not keyed:
        raise InvalidArgument("--id names the ids of a keyed release; give --key-file too")
    source = _bits(seed, key_file)
    with open_trips(
        trips,
        format=trips_format,
        column=column,
        record_column=record_column,
        records=keyed,
        after=after,
        separator=separator,
    ) as rows:
        releaser = _releaser(model, source, after=after, separator=separator, **others)
        with writing(output) as out, progress_of_trips() as advance:
            outcome = releaser.release(
                rows, rows.writer(out), keyed=keyed, skip=on_error == "skip", advance=advance
            )
    _report(outcome, seed)


def _releaser(
    model: str,
    source: BitSource,
    *,
    epsilon: str,
    adjacency: int,
    mechanism: str,
    costs: str | None,
    certificate: str | None,
    **reading: Any,
) -> Any:
    from dpauto.batch import MechanismChoice, TripReleaser
    from dpauto.privacy import Privacy

    choice = MechanismChoice(
        mechanism,
        Privacy.of(epsilon=epsilon, adjacency=adjacency),
        costs=costs,
        certificate=certificate,
    )
    chosen = options.ModelChoice(model, **reading)
    return TripReleaser(chosen.language, choice.build, rng=source, name=model)


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
