"""What the pages say beside their examples: command lines parse, links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import dpauto
from dpauto.cli import commands

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    page
    for page in [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")]
    if "_build" not in page.parts and "generated" not in page.parts
)
NAMES = [str(page.relative_to(CHECKOUT)) for page in PAGES]


def command_lines() -> list[str]:
    """Every `$ dpauto ...` line of the pages."""
    return [
        line.strip().removeprefix("$ ").split("  #")[0]
        for page in PAGES
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in block.splitlines()
        if line.strip().startswith("$ dpauto ") and "COMMAND" not in line
    ]


@pytest.mark.parametrize("line", command_lines())
def test_every_command_line_parses(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, name, *arguments = shlex.split(line)
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    command.make_context(name, arguments)


def test_every_command_is_shown_somewhere():
    shown = {shlex.split(line)[1] for line in command_lines()}
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    listed = set(commands.list_commands(click.Context(commands)))
    assert listed - shown - set(re.findall(r"`(\w+)`", readme)) == set()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_inside_the_project_lead_somewhere(page):
    code_and_formulas = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$"
    text = re.sub(code_and_formulas, "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!https?:|#)([^)\s#]+)", text)
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_versions_agree():
    version = dpauto.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+)?", version)
    citation = (CHECKOUT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"(?m)^version: (.+)$", citation) == [version]
    titles = re.findall(r"(?m)^## \[(.+?)\]", (CHECKOUT / "CHANGELOG.md").read_text("utf-8"))
    # What is not released yet stands first; the version before it is the package's.
    assert titles[0] == "Unreleased"
    assert titles[1:2] in ([], [version])
    assert (CHECKOUT / "dpauto" / "py.typed").is_file()
