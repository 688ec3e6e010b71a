"""Error against ε on real traffic: 2000 releases at each ε beside the exact values.

    python examples/traffic.py [FOLDER]

The paper's experiment, on a neighbourhood of 43 junctions in Porto and on its whole road network.
Takes some minutes. Needs ``pip install 'dpauto[plots]'`` and the data that examples/porto.py reads.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import porto
from matplotlib import pyplot as plt

import dpauto
from dpauto.accuracy import Comparison
from dpauto.drawing import plot_errors, save_plot

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "accuracy" / "figures"
RELEASES = 2000
#: Half of a 95 % confidence interval, in standard errors.
Z95 = 1.959963984540054
MECHANISMS = {"permute-and-flip": dpauto.PermuteAndFlip, "exponential": dpauto.Exponential}

Sampled = dict[str, list[tuple[float, float, float]]]


def main(folder: Path = FIGURES) -> None:
    """Write traffic-neighbourhood and traffic-network, as .svg and .csv."""
    plt.switch_backend("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    chain = porto.neighbourhood()
    # A drive that goes round, and not back and forth between two links.
    word = chain.sample(20, np.random.default_rng(1))
    halves = [Fraction(k, 2) for k in range(1, 17)]
    experiment(folder / "traffic-neighbourhood", chain.language(20), word, halves)

    trip = porto.trips()[0]
    language = porto.roads().language(len(trip))
    experiment(folder / "traffic-network", language, trip, [Fraction(k) for k in range(1, 9)])


def experiment(
    target: Path, language: dpauto.Language, word: Sequence[Any], epsilons: Sequence[Fraction]
) -> None:
    """Release `word` at every ε and write the plot and the table."""
    step = epsilons[0] / 4
    fine = [step * k for k in range(1, int(epsilons[-1] / step) + 1)]
    exact = dpauto.compare(language, [word], epsilons=fine, adjacency=1)
    sampled: Sampled = {name: [] for name in MECHANISMS}
    for epsilon in epsilons:
        for name, mechanism in MECHANISMS.items():
            made = mechanism(language, epsilon=epsilon, adjacency=1)
            released = made.release_many([word] * RELEASES, rng=len(sampled[name]))
            errors = [dpauto.hamming_distance(word, v) for v in released]
            half = Z95 * np.std(errors, ddof=1) / np.sqrt(RELEASES)
            sampled[name].append((float(epsilon), float(np.mean(errors)), float(half)))
    draw(target.with_suffix(".svg"), exact, sampled)
    tabulate(target.with_suffix(".csv"), exact, sampled)


def draw(path: Path, exact: Sequence[Comparison], sampled: Sampled) -> None:
    """Plot errors with confidence intervals, and what permute-and-flip saves."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    by_name = {name: [row for row in exact if row.mechanism == name] for name in MECHANISMS}
    baseline = by_name["exponential"]
    x = [float(row.epsilon) for row in baseline]
    left.fill_between(
        x, [row.mean / 2 for row in baseline], [row.mean for row in baseline], color="#e4e7eb"
    )
    left.plot(x, [row.mean / 2 for row in baseline], ":", color="#7b8794", label="½ exponential")
    plot_errors([*by_name["permute-and-flip"], *baseline], sampled=sampled, ax=left)
    band(left, sampled)
    left.set_yscale("log")
    left.set_ylim(0.4 * baseline[-1].mean, 1.5 * baseline[0].mean)

    saved = [
        100 * (1 - ours.mean / theirs.mean)
        for ours, theirs in zip(by_name["permute-and-flip"], baseline, strict=True)
    ]
    right.plot(x, saved, color="#1d5fa6", label="exact")
    points = zip(sampled["permute-and-flip"], sampled["exponential"], strict=True)
    measured = [(e, *ratio(ours, theirs)) for (e, *ours), (_, *theirs) in points]
    e, share, half = map(np.array, zip(*measured, strict=True))
    right.errorbar(
        e,
        100 * (1 - share),
        100 * half,
        fmt="o",
        color="#1d5fa6",
        markersize=4,
        capsize=2.5,
        linewidth=1,
        label=f"{RELEASES} releases",
    )
    right.axhline(50, linestyle=":", color="#7b8794", label="the most there can be")
    right.set_ylim(-10, 80)
    right.set_xlabel("ε")
    right.set_ylabel("less error than exponential, %")
    right.legend(frameon=False, loc="upper left")
    right.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    save_plot(left, path)
    plt.close("all")


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return the ratio of two means, and half its confidence interval to first order."""
    share = ours[0] / theirs[0]
    return share, share * float(np.hypot(ours[1] / ours[0], theirs[1] / theirs[0]))


def band(ax: Any, sampled: Sampled) -> None:
    """Shade the confidence intervals between the points."""
    for line in ax.get_lines():
        name = str(line.get_label())
        if name in sampled:
            x, y, half = map(np.array, zip(*sampled[name], strict=True))
            ax.fill_between(x, y - half, y + half, color=line.get_color(), alpha=0.2, linewidth=0)


def tabulate(path: Path, exact: Sequence[Comparison], sampled: Sampled) -> None:
    """Write exact and sampled means, a row for each ε."""
    means = {(row.mechanism, float(row.epsilon)): row.mean for row in exact}
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["ε", "exponential", "sampled", "permute-and-flip", "sampled", "less error", "online"]
        )
        ours_and_theirs = zip(sampled["permute-and-flip"], sampled["exponential"], strict=True)
        for (e, ours, half), (_, theirs, other_half) in ours_and_theirs:
            a, b = means["permute-and-flip", e], means["exponential", e]
            table.writerow(
                [
                    f"{e:g}",
                    f"{b:.4f}",
                    f"{theirs:.3f} ± {other_half:.3f}",
                    f"{a:.4f}",
                    f"{ours:.3f} ± {half:.3f}",
                    f"{100 * (1 - a / b):.1f} %",
                    f"{means['online', e]:.4f}",
                ]
            )


if __name__ == "__main__":
    with warnings.catch_warnings():
        # Seeds make the figures repeatable; nothing here is anybody's secret.
        warnings.simplefilter("ignore", dpauto.NotPrivateWarning)
        main(*map(Path, sys.argv[1:]))
