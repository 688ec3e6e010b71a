"""What all plots share: how they look, where they are drawn, and how they are saved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpauto.drawing.render import parse_path
from dpauto.errors import InvalidArgument, MissingDependency
from dpauto.names import CALIBRATED, EXPONENTIAL, ONLINE, PERMUTE_AND_FLIP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FAINT", "INK", "STYLES", "axes_or_new", "save_plot"]

#: Colour and marker of each mechanism, distinct in grey and for colour-blind readers.
STYLES: Final[Mapping[str, tuple[str, str]]] = {
    PERMUTE_AND_FLIP: ("#1d5fa6", "o"),
    EXPONENTIAL: ("#c4602b", "s"),
    ONLINE: ("#3d8361", "^"),
    CALIBRATED: ("#7b4a9e", "D"),
}
INK: Final = "#1f2933"
FAINT: Final = "#9aa5b1"

_UNDATED: Final[Mapping[str, Mapping[str, str | None]]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

_RC: Final[Any] = {
    "axes.edgecolor": "#7b8794",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10.0,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "dpauto",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def _styled() -> Iterator[None]:
    """Set the parameters of `_RC` for a while.

    Unlike matplotlib's ``rc_context`` this leaves all others alone: the first figure of a notebook
    switches to its backend and makes it interactive, and that is to stay.
    """
    from matplotlib import rcParams

    before = {name: rcParams[name] for name in _RC}
    rcParams.update(_RC)
    try:
        yield
    finally:
        rcParams.update(before)


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or axes in a new figure of pyplot, so that notebooks and `show` find it.

    Raises
    ------
    InvalidArgument
        If `ax` is something else.
    MissingDependency
        If matplotlib is not installed.
    """
    if ax is not None:
        # Asking for the methods spares the import of what the user has imported.
        if isinstance(ax, type) or not hasattr(ax, "fill_between"):
            raise InvalidArgument("ax must be matplotlib Axes, such as plt.gca()")
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingDependency("plots need matplotlib: pip install 'dpauto[plots]'") from None
    with _styled():
        return plt.subplots(figsize=size, layout="constrained")[1]


def save_plot(axes: Axes, path: str | os.PathLike[str]) -> Path:
    """Write the figure of `axes` to a file; the same plot gives the same bytes.

    Parameters
    ----------
    axes : matplotlib Axes
        As returned by the plots.
    path : str or path
        The suffix says what is written: .svg, .png or .pdf. Nothing is left half-written.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    InvalidArgument
        If the suffix is another.
    OSError
        If the file cannot be written.
    """
    from dpauto.outputs import writing

    place = parse_path(path, list(_UNDATED))
    suffix = place.suffix.lower()
    # Time stamps and versions in the file would make every run's bytes differ.
    figure: Any = axes.figure
    with _styled(), writing(os.fspath(place)) as out:
        figure.savefig(out, format=suffix[1:], dpi=150, metadata=_UNDATED[suffix])
    return place
