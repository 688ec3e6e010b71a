"""In CI a test that skips is a test that fails; elsewhere it may skip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
SKIPPING = {
    "a test": "import pytest\ndef test(): pytest.skip('no data here')",
    "a module": "import pytest\npytest.importorskip('no_such_module', reason='no data here')",
}


@pytest.mark.parametrize("ci", ["", "true"])
@pytest.mark.parametrize("code", SKIPPING.values(), ids=SKIPPING)
def test_skips_fail_in_ci_only(tmp_path, code, ci):
    module = tmp_path / "test_that_skips.py"
    module.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-ra", "-c", os.devnull, str(module)],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no data here" in done.stdout
    failed = {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
    assert (done.returncode in failed) == bool(ci)
