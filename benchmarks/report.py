"""The page that a run of the benchmarks writes."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness import Finding, Limit

__all__ = ["environment", "page", "table"]

PACKAGES = (
    "dpauto",
    "numpy",
    "scipy",
    "python-flint",
    "networkx",
    "automata-lib",
    "diffprivlib",
    "opendp",
    "pynini",
    "scikit-learn",
)

INTRODUCTION = """\
# Benchmarks

Written by `make benchmarks`. Seconds depend on the machine, so ratios are what counts: the two
works of a line are run in turn (A B A B …) in one process, the ratio is that of the medians, and
the range is that of the single rounds. Public set-up (model, language, mechanism) is made once,
before, unless a line says otherwise. Random bits come from the operating system, and every decision
is exact.

"Bare products" are n products of SciPy's CSR transition matrix with a vector or a block of vectors,
nothing stored and nothing drawn: about the least that a pass over the whole network could cost. A
cell of a grid has four neighbours; cells (i, j) with i and j multiples of 10 are also joined to
(i + 1, j + 1), and trips start in the middle.
"""


def environment() -> list[str]:
    """Return lines that say on what was measured."""
    versions = [f"{name} {found}" for name in PACKAGES if (found := _version(name))]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    system = f"{platform.system()} {platform.machine()}"
    return [
        f"{_processor()}, {os.cpu_count()} cores, {system}; load average at the start {load:.1f}",
        f"Python {platform.python_version()}, " + ", ".join(versions),
    ]


def table(findings: Iterable[Finding]) -> str:
    """Return findings as a Markdown table."""
    lines = [
        "| work | against | measured | range | target | medians |",
        "|---|---|---:|---|---|---|",
    ]
    for finding in findings:
        cells = (
            finding.work,
            finding.against,
            _figure(finding.figure, finding.unit),
            _range(finding),
            _target(finding.limit, finding),
            finding.detail,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def page(
    findings: Iterable[Finding], left_out: dict[str, str], *, rounds: int, before: list[str]
) -> str:
    """Return the whole page; `left_out` maps rows to the reason."""
    parts = [INTRODUCTION, "\n".join(f"- {line}" for line in [*before, f"{rounds} rounds"])]
    parts.append(table(findings))
    if left_out:
        parts.append("## Left out")
        parts.append("\n".join(f"- {name}: {reason}" for name, reason in left_out.items()))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _figure(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{digits} {unit}"


def _range(finding: Finding) -> str:
    if finding.low is None or finding.high is None or finding.low == finding.high:
        return ""
    low, high = (_figure(v, "").strip() for v in (finding.low, finding.high))
    return f"{low}–{high}"


def _target(limit: Limit | None, finding: Finding) -> str:
    if limit is None:
        return ""
    sign = "≥" if limit.at_least else "≤"
    verdict = "" if limit.met(finding.figure) else ": **missed**"
    return f"{sign} {_figure(limit.value, finding.unit)}{verdict}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
