"""The page on real data says what its commands print, on the real data."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest

from dpauto.cli import main

CHECKOUT = Path(__file__).resolve().parent.parent
PAGE = CHECKOUT / "docs" / "howto" / "real-data.md"


def sessions() -> list[tuple[str, str]]:
    """The commands of the page with what is printed below them, in order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"(?m)^\$ ", block) if part]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command line here, or in a shell if it is neither ours nor a script of ours."""
    program, *arguments = shlex.split(command)
    if program == "dpauto":
        assert main(arguments) == 0
    elif program == "python":
        monkeypatch.setattr(sys, "argv", arguments)
        runpy.run_path(str(CHECKOUT / arguments[0]), run_name="__main__")
    else:
        subprocess.run(command, shell=True, check=True)


def test_every_folder_has_its_place_on_the_page(data: Path) -> None:
    named = set(re.findall(r"\w+(?=/)", " ".join(command for command, _ in sessions())))
    assert {path.name for path in data.iterdir() if path.is_dir()} <= named


def test_the_page_says_what_its_commands_print(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pygraphviz")
    monkeypatch.chdir(tmp_path)
    for folder in data.iterdir():
        (tmp_path / folder.name).symlink_to(folder.resolve())
    there = {path.name for path in tmp_path.iterdir()}
    outputs = set()
    for command, shown in sessions():
        run(command, monkeypatch)
        printed = capsys.readouterr()
        assert OutputChecker().check_output(shown, printed.out + printed.err, ELLIPSIS), (
            f"{command}\n{printed.out}{printed.err}"
        )
        outputs |= set(re.findall(r"(?:-o|>) (\S+)", command))
    made = {path.name for path in tmp_path.iterdir()} - there
    assert made == outputs
    for name in outputs:
        assert os.path.getsize(name) > 0
    # As many trips come out as went in.
    with open("permits.xes", encoding="utf-8") as log:
        assert log.read().count("<trace>") == 1478
