"""Run every benchmark, one after the other."""

import pkgutil
import subprocess
import sys

import benchmarks

failed = []
for module in pkgutil.iter_modules(benchmarks.__path__):
    # Names with an underscore are helpers, not measurements.
    if module.name.startswith("_"):
        continue
    print(f"\n=== {module.name}", flush=True)
    if subprocess.run([sys.executable, "-m", f"benchmarks.{module.name}"], check=False).returncode:
        failed.append(module.name)
if failed:
    sys.exit(f"failed or over budget: {', '.join(failed)}")
