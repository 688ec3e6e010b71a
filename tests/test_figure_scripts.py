"""The scripts behind the documentation's figures run and write what the pages show."""

from __future__ import annotations

import csv
import importlib
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import networkx as nx
import pytest

import dpauto

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, data: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("DPAUTO_DATA", str(data))
    pytest.importorskip("matplotlib")
    return importlib.import_module("traffic")


@pytest.mark.parametrize("name", ["figure_mnfa", "figure_bounds"])
def test_figures_without_data(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    importlib.import_module(name).main(tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    kept = {path.name for path in (EXAMPLES.parent / "docs/accuracy/figures").iterdir()}
    assert drawn
    assert kept.issuperset(drawn)
    for path in tmp_path.iterdir():
        assert "<svg" in path.read_text(encoding="utf-8")


def test_the_neighbourhood_has_43_links_that_reach_each_other(script: ModuleType) -> None:
    chain = script.porto.neighbourhood()
    assert len(chain.states) == 43
    assert nx.is_strongly_connected(chain.graph)


def test_an_experiment_writes_its_plot_and_its_table(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "RELEASES", 200)
    language = dpauto.Language.all_words("abc", 4)
    script.experiment(tmp_path / "small", language, "abca", [Fraction(2), Fraction(4)])
    assert "<svg" in (tmp_path / "small.svg").read_text(encoding="utf-8")
    with (tmp_path / "small.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["ε"] for row in rows] == ["2", "4"]
    for row in rows:
        exact = dpauto.PermuteAndFlip(language, epsilon=row["ε"]).error_law("abca")
        assert float(row["permute-and-flip"]) == pytest.approx(exact.mean, abs=5e-5)
        # Six standard errors of 200 releases.
        assert (
            abs(float(row["sampled"].split()[0]) - exact.mean) < 6 * (exact.variance / 200) ** 0.5
        )
