"""From nothing to the public names, in fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.harness import Finding, Limit, Timing, interleave, row, seconds_text

STEPS = {
    "import dpauto": "import dpauto",
    "import and first use of every public name": (
        "import dpauto; [getattr(dpauto, name) for name in dpauto.__all__]"
    ),
    "import and first release": (
        "import dpauto;"
        "chain = dpauto.MarkovChain.from_matrix([[0.5, 0.5], [1, 0]]);"
        "dpauto.PermuteAndFlip(chain.language(8), epsilon=2).release([0] * 8)"
    ),
}


@row("imports")
def imports(rounds: int) -> Iterator[Finding]:
    """Import and first use of the public names, the interpreter's own start taken off."""
    works = [_interpreter("pass"), *map(_interpreter, STEPS.values())]
    bare, *steps = interleave(rounds, *works)
    for name, timing in zip(STEPS, steps, strict=True):
        above = Timing(
            tuple(whole - start for whole, start in zip(timing.seconds, bare.seconds, strict=True))
        )
        yield Finding(
            work=name,
            against="",
            figure=timing.median - bare.median,
            unit="s",
            low=min(above.seconds),
            high=max(above.seconds),
            limit=Limit(0.4),
            detail=f"fresh processes, less {seconds_text(bare.median)} for the interpreter alone",
        )


def _interpreter(code: str) -> Callable[[int], object]:
    # Installed packages are compiled, and a checkout is after its first import unless forbidden.
    compiling = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return lambda _: subprocess.run([sys.executable, "-c", code], check=True, env=compiling)
