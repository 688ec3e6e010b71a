"""``dpauto demo``: the built-in road network, from trips to released trips and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpauto.arguments import whole_number
from dpauto.cli import options
from dpauto.errors import DrawingTooLarge, MissingDependency

if TYPE_CHECKING:
    from dpauto.language import Language
    from dpauto.mechanisms import Mechanism
    from dpauto.models import MarkovChain
    from dpauto.randomness import BitSource
    from dpauto.words import Word

__all__ = ["command"]

#: Releases behind the observed error.
OBSERVED = 1000
#: Where all trips of the demo begin: the busiest junction of the network.
START = 10


@click.command("demo", short_help="Try it on a small road network.")
@click.option("--epsilon", default="3", show_default=True, metavar="E", help="Budget of each trip.")
@options.adjacency_option
@click.option(
    "--length", type=int, default=8, show_default=True, metavar="N", help="Junctions in a trip."
)
@click.option(
    "--trips", type=int, default=8, show_default=True, metavar="K", help="How many trips."
)
@click.option("--seed", type=int, metavar="N", help="The same demo again.")
@click.option(
    "-o",
    "--output",
    default="demo-output",
    show_default=True,
    metavar="FOLDER",
    help="For files and pictures.",
)
def command(
    *, epsilon: str, adjacency: int, length: int, trips: int, seed: int | None, output: str
) -> None:
    """Release trips through Sioux Falls, 24 junctions and 76 one-way links, and show what happened.

    The trips are made up: a driver who turns at random at every junction, starting at a public
    place. The table shows each trip, its release and how many junctions differ. FOLDER gets the
    network, the trips, the releases and pictures.
    """
    from dpauto.examples import sioux_falls
    from dpauto.mechanisms import PermuteAndFlip
    from dpauto.models import MarkovChain
    from dpauto.randomness import SeededBits, SystemBits

    whole_number(trips, name="trips")
    roads = sioux_falls()
    chain = MarkovChain.from_networkx(roads, initial=START)
    language = chain.language(length)
    mechanism = PermuteAndFlip(language, epsilon=epsilon, adjacency=adjacency)
    source = SystemBits() if seed is None else SeededBits(seed)
    before = [chain.sample(length, None if seed is None else seed + k) for k in range(trips)]
    after = mechanism.release_many(before, source)
    click.echo(
        f"Sioux Falls: {roads.number_of_nodes()} junctions, {roads.number_of_edges()} links;"
        f" {language.count():,} trips of {length} junctions are possible from junction {START}.\n"
        f"Each release is {epsilon}-differentially private for trips that differ in at most"
        f" {adjacency} junction{'s' if adjacency > 1 else ''}.\n"
    )
    _table(before, after)
    _errors(mechanism, before, source)
    _neighbours(language, adjacency)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    _files(folder, chain, before, after)
    _pictures(folder, roads, language, before, after)
    click.echo(
        f"\nNow do it yourself:\n  dpauto release {folder / 'trips.csv'} --model"
        f" {folder / 'roads.graphml'} --epsilon {epsilon} --adjacency {adjacency}"
    )


def _table(before: list[Word], after: list[Word]) -> None:
    from dpauto.words import hamming_distance

    rows = [
        (" ".join(map(str, w)), " ".join(map(str, v))) for w, v in zip(before, after, strict=True)
    ]
    width = max(len(text) for text, _ in rows)
    other = max(len(text) for _, text in rows)
    click.echo(f"{'trip':{width}}   {'released':{other}}   wrong")
    for (true, written), w, v in zip(rows, before, after, strict=True):
        click.echo(f"{true:{width}}   {written:{other}}   {hamming_distance(w, v):5}")


def _errors(mechanism: Mechanism, before: list[Word], source: BitSource) -> None:
    """Print what is expected of every mechanism beside what this one was seen to do."""
    from dpauto.accuracy import compare
    from dpauto.words import hamming_distance

    # The trips are made up, so releasing them over and over costs nobody's privacy.
    words = before * -(-OBSERVED // len(before))
    again = mechanism.release_many(words, source)
    observed = sum(map(hamming_distance, words, again)) / len(words)
    click.echo("\nwrong junctions in a trip")
    click.echo(f"  observed  {observed:7.3f}  in {len(words):,} more releases of these trips")
    privacy = mechanism.privacy
    for row in compare(
        mechanism.language, before, epsilons=[privacy.epsilon], adjacency=privacy.adjacency
    ):
        mark = " (this one)" if row.mechanism == mechanism.name else ""
        click.echo(f"  expected  {row.mean:7.3f}  {row.mechanism}{mark}")


def _neighbours(language: Language, adjacency: int) -> None:
    from dpauto.accuracy import sampled_neighbours

    click.echo(f"\n{sampled_neighbours(language, adjacency=adjacency)}.")


def _files(folder: Path, chain: MarkovChain, before: list[Word], after: list[Word]) -> None:
    from dpauto.formats import write_model
    from dpauto.outputs import writing

    write_model(chain, str(folder / "roads.graphml"))
    for name, words in (("trips.csv", before), ("released.csv", after)):
        lines = [f"{k},{' '.join(map(str, word))}\n" for k, word in enumerate(words, 1)]
        with writing(str(folder / name)) as out:
            out.write("".join(["id,trip\n", *lines]).encode())
    click.echo(
        f"\nwrote {folder / 'roads.graphml'}, {folder / 'trips.csv'}, {folder / 'released.csv'}"
    )


def _pictures(
    folder: Path, roads: Any, language: Language, before: list[Word], after: list[Word]
) -> None:
    """Draw what can be drawn and say what is missing for the rest."""
    from dpauto.drawing import diagram, plot_trip, save_plot
    from dpauto.hamming import mnfa
    from dpauto.words import hamming_distance

    distances = [hamming_distance(w, v) for w, v in zip(before, after, strict=True)]
    # The first trip that changed says more than one that did not.
    k = next((k for k, distance in enumerate(distances) if distance), 0)
    try:
        place = folder / "trip.svg"
        save_plot(plot_trip(roads, before[k], after[k], initial=START), place)
        click.echo(f"wrote {place}: trip {k + 1} on the map, before and after")
    except MissingDependency as error:
        click.echo(f"no map: {error}")
    try:
        place = folder / "mnfa.svg"
        machine = mnfa(before[k], max(1, distances[k]), language)
        diagram(machine, limit=None).render(place)
        click.echo(
            f"wrote {place}: all {machine.count():,} trips that differ from trip {k + 1} in"
            f" {max(1, distances[k])} junctions, and the policy that picks one uniformly"
        )
    except (MissingDependency, DrawingTooLarge) as error:
        click.echo(f"no drawing of the automaton: {error}")
