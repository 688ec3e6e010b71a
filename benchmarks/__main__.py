"""Measure dpauto against its yardsticks and its peers.

``python -m benchmarks`` measures every row, prints the table and writes docs/benchmarks.md.
``python -m benchmarks --only grid`` measures the rows whose names contain "grid", and only prints.
"""

import argparse
import os
import sys
import time
from pathlib import Path

# One thread for all, before numpy starts its own: what is compared is the work.
for library in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR", "RAYON", "POLARS_MAX"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    """Measure, print, write; return 1 if a target was missed."""
    from benchmarks import harness
    from benchmarks.harness import ROUNDS, NotHere
    from benchmarks.report import environment, page, table
    from benchmarks.rows import load

    options = _options(ROUNDS)
    if options.cpu:
        harness.CLOCK = harness.processor_time
    rows = load()
    chosen = [row for name, row in rows.items() if options.only in name]
    if options.list or not chosen:
        width = max(map(len, rows))
        for row in rows.values():
            print(f"{row.name:{width}}  {row.title}")
        return 0 if options.list else 2
    before, findings, left_out = environment(), [], {}
    for row in chosen:
        started = time.perf_counter()
        try:
            found = row.run(options.rounds)
        except NotHere as missing:
            left_out[row.name] = str(missing)
            print(f"{row.name}: left out: {missing}", file=sys.stderr)
            continue
        print(f"{row.name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
        findings += found
    text = page(findings, left_out, rounds=options.rounds, before=before)
    output = options.output or (None if options.only else PAGE)
    print(text if output else table(findings))
    if output:
        output.write_text(text, encoding="utf-8")
    return int(any(f.limit is not None and not f.limit.met(f.figure) for f in findings))


def _options(rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=rounds, help="timed rounds of each row")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the page")
    parser.add_argument(
        "--cpu", action="store_true", help="count processor time instead of wall time"
    )
    parser.add_argument("--list", action="store_true", help="show the rows and stop")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
