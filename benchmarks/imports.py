"""Time from nothing to the first use of the public names, in fresh interpreters.

Budget: at most 0.4 s on 2 cores, the interpreter's own start not counted. Exit status 1 beyond it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

BUDGET = 0.4
RUNS = 7
STEPS = {
    "nothing": "",
    "import dpauto": "import dpauto",
    "every public name": "import dpauto; [getattr(dpauto, name) for name in dpauto.__all__]",
    "first release": (
        "import dpauto;"
        "chain = dpauto.MarkovChain.from_matrix([[0.5, 0.5], [1, 0]]);"
        "dpauto.PermuteAndFlip(chain.language(8), epsilon=2).release([0] * 8)"
    ),
}


def seconds(code: str) -> float:
    """Return the median time of a fresh interpreter that runs `code`."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> int:
    """Print the table; return 1 if the budget is exceeded."""
    measured = {step: seconds(code) for step, code in STEPS.items()}
    bare = measured.pop("nothing")
    print(f"interpreter alone: {bare:.3f} s (median of {RUNS}); budget {BUDGET} s on top of it")
    for step, total in measured.items():
        print(f"  {step:18} {total - bare:.3f} s")
    return int(max(measured.values()) - bare > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
