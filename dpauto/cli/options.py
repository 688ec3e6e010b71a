"""Options that several commands share, and what they are turned into."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpauto.errors import InvalidArgument
from dpauto.formats import MODEL_FORMATS, TRIP_FORMATS, read_model
from dpauto.names import EVERY_NAME, PERMUTE_AND_FLIP

if TYPE_CHECKING:
    from dpauto.batch import ObservedModel

__all__ = [
    "adjacency_option",
    "certificate_option",
    "costs_option",
    "epsilon_option",
    "epsilons_option",
    "keep_inputs",
    "mechanism_option",
    "model_argument",
    "model_option",
    "model_options",
    "read",
    "reading_options",
    "symbols",
    "trips_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def _all(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


model_argument = click.argument("model", metavar="MODEL")

model_option = click.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="What is feasible: a file, regex:PATTERN, or all:abc (every word).",
)

#: How a model's file is read.
model_options = _all(
    click.option(
        "--format",
        "format_",
        type=click.Choice(MODEL_FORMATS),
        help="Format of MODEL, whatever its suffix says.",
    ),
    click.option(
        "--states",
        type=click.Choice(["nodes", "links"]),
        default="nodes",
        show_default=True,
        help="In road graphs: whether nodes or links are the states.",
    ),
    click.option(
        "--initial",
        metavar="STATE",
        help="The public start; it is not part of the word. Without it a trip may start anywhere"
        " (or where the file says).",
    ),
    click.option(
        "--alphabet", metavar="SYMBOLS", help="Further symbols, such as xyz or north,south."
    ),
    click.option(
        "--observe",
        type=click.Choice(["states", "actions", "both"]),
        default="states",
        show_default=True,
        help="In MDPs: what a symbol is. With both it is written action/state.",
    ),
)

#: How text is split into words.
reading_options = _all(
    click.option(
        "--after",
        metavar="TEXT",
        help="In text: what stands before the trip, up to and including TEXT, is copied.",
    ),
    click.option(
        "--separator",
        metavar="TEXT",
        help="What stands between two symbols; by default white space. '' makes every character a"
        " symbol.",
    ),
)

trips_options = _all(
    click.option(
        "--trips-format",
        type=click.Choice(TRIP_FORMATS),
        help="Format of TRIPS, whatever its suffix says.",
    ),
    click.option(
        "--column",
        default="trip",
        show_default=True,
        metavar="NAME",
        help="Column of the trips in tables.",
    ),
)

epsilon_option = click.option(
    "--epsilon",
    required=True,
    metavar="E",
    help="The privacy budget of each trip, such as 3, 0.5 or 1/3.",
)

epsilons_option = click.option(
    "--epsilon",
    "epsilons",
    required=True,
    metavar="E,E,…",
    help="Privacy budgets to compare, such as 0.5,1,3,5.",
)

adjacency_option = click.option(
    "--adjacency",
    type=int,
    default=1,
    show_default=True,
    metavar="B",
    help="Words within B substitutions of each other are hard to tell apart.",
)

mechanism_option = click.option(
    "--mechanism",
    type=click.Choice(EVERY_NAME),
    default=PERMUTE_AND_FLIP,
    show_default=True,
)

costs_option = click.option(
    "--costs",
    metavar="FILE",
    help="CSV of public symbol costs: columns true,written,cost, or a square table.",
)

certificate_option = click.option(
    "--certificate", metavar="FILE", help="What dpauto certify wrote, for trips of its length."
)


def keep_inputs(output: str | None, *inputs: str | None) -> None:
    """Refuse an output that would replace one of the files the command reads, or has no folder.

    Raises
    ------
    InvalidArgument
        If `output` is one of `inputs`, by whatever path.
    OSError
        If the folder of `output` is missing: better now than when minutes of work are done.
    """
    if output is None or output == "-":
        return
    place = os.path.realpath(output)
    if not os.path.isdir(os.path.dirname(place)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), output)
    for name in inputs:
        if name is not None and os.path.realpath(name) == place:
            raise InvalidArgument(f"--output would replace {name}, which this command reads")


def read(
    source: str,
    *,
    format_: str | None,
    states: str,
    initial: str | None,
    alphabet: str | None,
    observe: str,
    after: str | None = None,
    separator: str | None = None,
) -> ObservedModel:
    """Return the model that a command names, and how its runs are observed."""
    from dpauto.batch import ObservedModel

    model = read_model(
        source,
        format=format_,
        states=states,
        initial=initial,
        alphabet=symbols(alphabet),
        after=after,
        separator=separator,
    )
    return ObservedModel(model, observe=observe, name=source)


def symbols(text: str | None) -> list[str] | None:
    """Return the symbols that an option lists: abc, or a,b,c with commas."""
    if text is None:
        return None
    return [part.strip() for part in text.split(",")] if "," in text else list(text)
