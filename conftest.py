"""Hooks for every test: the Markdown pages' examples, and no silent skips in CI."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

# Sphinx's own scripts hold no examples and need Sphinx.
collect_ignore_glob = ["docs/*.py", "docs/_ext/*.py"]

IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run a page's examples in a folder of its own, so that what they write stays out of here."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    fixtures=["example_folder"],
).pytest()


def _refuse_skip(report: Any) -> None:
    """In CI everything is installed and all data are there, so a skipped test is a fault."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Turn a test that skips in CI into a failure."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Turn a module that skips in CI into a failure."""
    report = yield
    _refuse_skip(report)
    return report
