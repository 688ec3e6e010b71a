"""Plots of results: error laws, error against epsilon, the bounds of Theorem 2.

They need matplotlib (``pip install 'dpauto[plots]'``). Each draws into `ax`, or into a new figure,
and returns the axes. A mechanism has the same colour in every plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dpauto.arguments import each, real_number
from dpauto.drawing.figures import STYLES, axes_or_new
from dpauto.errors import InvalidArgument
from dpauto.names import EXPONENTIAL, ONLINE, PERMUTE_AND_FLIP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpauto.accuracy import Bounds, Comparison
    from dpauto.laws import ErrorLaw

__all__ = ["plot_bounds", "plot_errors", "plot_law"]

_OTHERS: Final = (("#8c6d1f", "v"), ("#a83258", "P"), ("#4a5568", "X"))
#: Share of the probability that a plot of a law may leave out on the right.
_TAIL: Final = 1e-6

_BOUNDS: Final = ("lower", "exact", "upper")


def _labelled(ax: Axes, x: str, y: str) -> Axes:
    """Name both axes and what is drawn between them."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(frameon=False)
    return ax


def _with_error_axis(ax: Axes, x: str) -> Axes:
    """Finish curves of the expected error over `x`, which begin at 0 so that heights compare."""
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    return _labelled(ax, x, "expected wrong symbols")


def _styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return each name's colour and marker; unknown names share the rest in order."""
    unknown = [name for name in dict.fromkeys(names) if name not in STYLES]
    rest = {name: _OTHERS[k % len(_OTHERS)] for k, name in enumerate(unknown)}
    return {**STYLES, **rest}


def plot_law(laws: ErrorLaw | Mapping[str, ErrorLaw], *, ax: Axes | None = None) -> Axes:
    """Plot the probability of every number of errors.

    Parameters
    ----------
    laws : ErrorLaw or mapping {name: ErrorLaw}
        One law, or several side by side under the names of their mechanisms. The law of a sensitive
        word is as sensitive as the word.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no law, or `ax` is not one of matplotlib's.
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpauto.laws.offline import exponential_law, permute_and_flip_law
    >>> counts, a = [1, 9, 27, 27], Fraction(1)
    >>> axes = plot_law({
    ...     "permute-and-flip": permute_and_flip_law(counts, a),
    ...     "exponential": exponential_law(counts, a),
    ... })
    >>> axes.get_xlabel()
    'wrong symbols'
    """
    named = dict(laws) if isinstance(laws, Mapping) else {"": laws}
    if not named or not all(hasattr(law, "pmf") for law in named.values()):
        raise InvalidArgument(
            "laws must be an error law or a mapping {name: error law}, at least one"
        )
    ax = axes_or_new(ax, (6.0, 3.6))
    styles = _styles(named)
    stop = max(_last_shown(law) for law in named.values()) + 1
    width = 0.8 / len(named)
    for k, (name, law) in enumerate(named.items()):
        pmf = np.zeros(stop)
        pmf[: len(law.pmf)] = law.pmf[:stop]
        colour = styles[name][0] if name else STYLES[PERMUTE_AND_FLIP][0]
        offset = (k - (len(named) - 1) / 2) * width
        label = f"{name}, mean {law.mean:.3g}" if name else f"mean {law.mean:.3g}"
        ax.bar(np.arange(stop) + offset, pmf, width * 0.92, color=colour, label=label)
    ax.locator_params(axis="x", integer=True)
    return _labelled(ax, "wrong symbols", "probability")


def _last_shown(law: ErrorLaw) -> int:
    return int(np.searchsorted(np.cumsum(law.pmf), 1 - _TAIL).clip(1, len(law.pmf) - 1))


def plot_errors(
    rows: Iterable[Comparison],
    *,
    sampled: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the expected error of every mechanism against epsilon.

    Parameters
    ----------
    rows : iterable of Comparison
        What `dpauto.compare` returns.
    sampled : mapping {mechanism: [(epsilon, mean, half width), …]}, optional
        Means of actual releases with half the width of their confidence intervals, to be shown as
        points with bars beside the exact curves.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no row, or `ax` is not one of matplotlib's.
    MissingDependency
        If matplotlib is not installed.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    wanted = "rows of compare(), at least one"
    for row in each(rows, name="rows", of=wanted):
        if not hasattr(row, "mechanism"):
            raise InvalidArgument(f"rows must be a collection of {wanted}")
        curves.setdefault(row.mechanism, []).append((float(row.epsilon), float(row.mean)))
    if not curves:
        raise InvalidArgument(f"rows must be a collection of {wanted}")
    if sampled is not None and not isinstance(sampled, Mapping):
        raise InvalidArgument("sampled must be a mapping {mechanism: [(epsilon, mean, half), …]}")
    ax = axes_or_new(ax, (6.0, 3.8))
    styles = _styles([*curves, *(sampled or {})])
    for name, points in curves.items():
        colour, marker = styles[name]
        x, y = zip(*sorted(points), strict=True)
        ax.plot(
            x, y, color=colour, marker="" if sampled else marker, markersize=5, label=name, zorder=3
        )
    for name, measured in (sampled or {}).items():
        colour, marker = styles[name]
        x, y, bar = zip(*sorted(measured), strict=True)
        ax.errorbar(
            x,
            y,
            bar,
            color=colour,
            marker=marker,
            markersize=4,
            linestyle="none",
            capsize=2.5,
            label=f"{name}, sampled",
            zorder=3,
        )
    return _with_error_axis(ax, "ε")


def plot_bounds(
    x: Iterable[float], bounds: Iterable[Bounds], *, xlabel: str = "ε", ax: Axes | None = None
) -> Axes:
    """Plot Theorem 2: the expected error of permute-and-flip between its bounds.

    Parameters
    ----------
    x : iterable of float
        What varies: epsilons, lengths or alphabet sizes.
    bounds : iterable of Bounds
        What `dpauto.bounds` returns at each of them.
    xlabel : str, optional
        What `x` is.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        If there is no value, or not as many bounds as values; if `ax` is none of matplotlib's.
    MissingDependency
        If matplotlib is not installed.

    References
    ----------
    Benvenuti, Rao, Hale, arXiv:2603.28903, Theorem 2 and Figure 2.
    """
    numbers = each(x, name="x", of="numbers")
    points = [real_number(value, wanted="x must be a collection of numbers") for value in numbers]
    rows = list(each(bounds, name="bounds", of="what bounds() returns"))
    if not all(hasattr(row, "gruss") for row in rows):
        raise InvalidArgument("bounds must be a collection of what bounds() returns")
    if not points or len(points) != len(rows):
        raise InvalidArgument("x and bounds must have the same number of values, at least one")
    ax = axes_or_new(ax, (6.0, 3.8))
    lower, exact, upper = ([getattr(row, name) for row in rows] for name in _BOUNDS)
    colour = STYLES[PERMUTE_AND_FLIP][0]
    ax.fill_between(points, lower, upper, color=colour, alpha=0.14, linewidth=0)
    ax.plot(points, upper, color=STYLES[EXPONENTIAL][0], linestyle="--", label="upper bound")
    ax.plot(points, exact, color=colour, linewidth=1.8, label="exact")
    ax.plot(points, lower, color=STYLES[ONLINE][0], linestyle=":", label="lower bound")
    return _with_error_axis(ax, xlabel)
