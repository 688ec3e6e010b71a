"""Both routes to averages over words."""

from __future__ import annotations

import pytest

from dpauto.accuracy import averages


@pytest.fixture(params=[True, False], ids=["by counts", "by moments"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(averages, "COUNT_BITS", 0)
