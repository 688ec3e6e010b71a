"""Shared by all tests: where the real data are, and how Hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CHECKOUT = Path(__file__).resolve().parent.parent

# CI repeats the same search every time; at home every run looks somewhere new.
settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the real data sets; tests that ask for it skip where it is missing."""
    folder = Path(os.environ.get("DPAUTO_DATA", CHECKOUT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data are not here; set DPAUTO_DATA to their folder")
    return folder
