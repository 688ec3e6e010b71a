"""``dpauto error``: every mechanism side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpauto.cli import options
from dpauto.cli.progress import progress_of_work

if TYPE_CHECKING:
    from dpauto.batch.comparing import TripTable

__all__ = ["command"]


@click.command("error", short_help="Compare the error of every mechanism.")
@options.model_argument
@click.option("--trips", required=True, metavar="TRIPS", help="Public example trips.")
@options.epsilons_option
@options.adjacency_option
@click.option("--most", type=int, metavar="N", help="Use the first N trips that can be released.")
@click.option(
    "--length",
    type=int,
    metavar="N",
    help="Use the first N symbols of each trip, and no shorter trips.",
)
@click.option(
    "--certificate",
    "certificates",
    multiple=True,
    metavar="FILE",
    help="What dpauto certify wrote: gives its epsilon a row 'calibrated'. Can be repeated.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Make the certificates that are missing: seconds to minutes for each epsilon and length.",
)
@click.option(
    "--plot", metavar="FILE", help="Draw the table, as .svg, .png or .pdf (needs matplotlib)."
)
@options.trips_options
@options.reading_options
@options.model_options
def command(
    *,
    model: str,
    trips: str,
    epsilons: str,
    adjacency: int,
    most: int | None,
    length: int | None,
    certificates: tuple[str, ...],
    calibrate: bool,
    plot: str | None,
    trips_format: str | None,
    column: str,
    after: str | None,
    separator: str | None,
    **reading: Any,
) -> None:
    """Print the exact expected error of every mechanism at every EPSILON.

    The error is the number of wrong symbols of a release, for a trip drawn uniformly from TRIPS.
    The table depends on TRIPS: made from sensitive trips it is as sensitive as they are.

    With --certificate or --calibrate there are rows of the calibrated mechanism too. All trips must
    then be feasible.

    \b
    dpauto error roads.csv --trips sample.txt --epsilon 0.5,1,3,5 --adjacency 2
    dpauto error roads.csv --trips sample.txt --length 30 --epsilon 3,5 --calibrate
    """
    from dpauto.batch import compare_trips
    from dpauto.formats import open_trips

    options.keep_inputs(plot, model, trips, *certificates)
    values = [part.strip() for part in epsilons.split(",")]
    chosen = options.read(model, after=after, separator=separator, **reading)
    with (
        open_trips(
            trips, format=trips_format, column=column, after=after, separator=separator
        ) as rows,
        progress_of_work() as progress,
    ):
        table = compare_trips(
            rows,
            chosen.language,
            epsilons=values,
            adjacency=adjacency,
            most=most,
            length=length,
            certificates=certificates,
            calibrate=calibrate,
            name=model,
            progress=progress,
        )
    _print(table, adjacency)
    if plot is not None:
        from dpauto.drawing import plot_errors, save_plot

        save_plot(plot_errors(table.rows), plot)


def _print(table: TripTable, adjacency: int) -> None:
    """Show a row for each mechanism at each epsilon."""
    width = max(len("mechanism"), *(len(row.mechanism) for row in table.rows))
    click.echo(
        f"{table.trips:,} trips of {table.mean_length:.1f} symbols on average,"
        f" adjacency {adjacency}\n"
    )
    click.echo(
        f"{'epsilon':>8}  {'mechanism':{width}}  {'expected error':>14}  {'deviation':>9}"
        "  unchanged"
    )
    for row in table.rows:
        click.echo(
            f"{float(row.epsilon):8.6g}  {row.mechanism:{width}}  {row.mean:14.4f}"
            f"  {row.deviation:9.4f}  {row.unchanged:9.2%}"
        )
