"""Shared by all tests: the real data, the command line, and how Hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dpauto.cli import main

CHECKOUT = Path(__file__).resolve().parent.parent

# CI repeats the same search every time; at home every run looks somewhere new.
settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the real data sets; tests that ask for it skip where it is missing."""
    folder = Path(os.environ.get("DPAUTO_DATA", CHECKOUT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data are not here; set DPAUTO_DATA to their folder")
    return folder


class Run:
    """Calls `dpauto` and keeps what it said."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = folder, capfd
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        status = main(list(arguments))
        self.out, self.err = self._capfd.readouterr()
        return status

    def file(self, name: str, content: str) -> str:
        (self.folder / name).write_text(content, encoding="utf-8")
        return name

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return Run(tmp_path, capfd)
