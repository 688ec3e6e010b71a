"""Runs the command line inside the test's process, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpauto.cli import main


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
