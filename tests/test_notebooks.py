"""The notebooks in examples/ run, show their pictures, and are stored without outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

#: What makes a cell draw, and what then has to be among its outputs.
DRAWS = {"plot_": "image/png", "plt.subplots(": "image/png", "dpauto.mnfa(": "image/svg+xml"}


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"event_log", "road_network", "robot_mdp"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    nbformat: Any = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_shows_its_pictures(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat: Any = pytest.importorskip("nbformat")
    nbclient: Any = pytest.importorskip("nbclient")
    # The kernel reads the checkout, wherever it runs, and no settings of the user's.
    monkeypatch.setenv("PYTHONPATH", os.fspath(EXAMPLES.parent))
    monkeypatch.setenv("IPYTHONDIR", os.fspath(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.source.startswith(("import ", "from ")):
            continue
        shown = {kind for output in cell.outputs for kind in output.get("data", ())}
        wanted = {kind for call, kind in DRAWS.items() if call in cell.source}
        assert wanted <= shown, cell.source
        assert not any(output.get("name") == "stderr" for output in cell.outputs), cell.source
