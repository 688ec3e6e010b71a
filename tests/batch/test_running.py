"""Whole tables: blocks, lengths, order, and what is forgotten."""

from __future__ import annotations

import io
import os
import pickle
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from dpauto import KeyedBits, Language, MarkovChain, ReleasePlan, SeededBits
from dpauto.batch import MechanismChoice, Outcome, engine, release_trips, running, workers
from dpauto.errors import (
    DuplicateRecord,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
    UnknownSymbol,
)
from dpauto.formats import SymbolTexts
from dpauto.formats.trips import Separator, TextTrips
from dpauto.privacy import Privacy

CHAIN = MarkovChain(
    states="abc", transitions={"a": {"b": 1}, "b": {"a": 0.5, "c": 0.5}, "c": {"a": 0.5, "c": 0.5}}
)


def source(text: str, **options: Any) -> TextTrips:
    options = {"after": None, "separator": Separator(""), **options}
    return TextTrips(io.StringIO(text), "trips", **options)


def plan(model: Any = CHAIN, **options: Any) -> ReleasePlan:
    return ReleasePlan(model, **{"epsilon": 900, **options})


def released(
    text: str, chosen: ReleasePlan | None = None, form: dict[str, Any] | None = None, **options: Any
) -> tuple[str, Outcome]:
    trips, out = source(text, **(form or {})), io.BytesIO()
    options = {"workers": 1, **options}
    outcome = release_trips(trips, trips.writer(out), chosen or plan(), **options)
    return out.getvalue().decode(), outcome


def walks(count: int) -> Iterator[str]:
    for k in range(count):
        yield "".join(CHAIN.sample(1 + k * k % 7, k))


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_blocks_of_any_size_keep_the_order(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(running, "BLOCK_ROWS", rows)
    text = "#x\n".join(f"{walk}\n" for walk in walks(20))
    seen: list[int] = []
    out, outcome = released(text, advance=seen.append)
    assert out == text
    assert outcome.released == 20
    assert outcome.lengths == {1 + k * k % 7 for k in range(20)}
    assert (sum(seen), max(seen)) == (39, min(rows, 39))


def test_long_words_end_a_block_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BLOCK_SYMBOLS", 10)
    seen: list[int] = []
    released("abab\n" * 7, advance=seen.append)
    assert seen == [3, 3, 1]


class Counting:
    """A model that notes which lengths it is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def language(self, length: int) -> Language:
        self.asked.append(length)
        return CHAIN.language(length)


def test_each_length_is_compiled_once_and_forgotten_when_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "abab\nab\naba\n" * 3
    monkeypatch.setattr(running, "BLOCK_ROWS", 3)
    # The shortest length is asked for once more, for the alphabet.
    for room, expected in ((10**6, [2, 4, 2, 3]), (0, [2, *[4, 2, 3] * 3])):
        monkeypatch.setattr(engine, "KEPT_EDGES", room)
        model = Counting()
        assert released(text, plan(model))[0] == text
        assert model.asked == expected


def test_the_first_bad_row_of_a_block_is_named_and_nothing_of_the_block_written() -> None:
    trips, out = source("ab\nax\nbb\n"), io.BytesIO()
    with pytest.raises(UnknownSymbol, match="trips, row 2: the symbol at position 2"):
        release_trips(trips, trips.writer(out), plan())
    assert out.getvalue() == b""


def test_skipped_rows_are_listed_in_order() -> None:
    chain = MarkovChain(states="abc", transitions={"a": {"b": 1}, "b": {"c": 1}})
    text = "abca\nab\n\nxy\nabc\nabcab\n"
    out, outcome = released(text, plan(chain, on_error="skip"))
    assert out == "ab\nabc\n"
    assert outcome.skipped == [1, 3, 4, 6]
    with pytest.raises(EmptyLanguage, match="trips, row 1"):
        released("abca\n", plan(chain))


def keyed(**options: Any) -> ReleasePlan:
    return plan(rng=KeyedBits(bytes(16)), record_column=":", epsilon=1, **options)


IDS = {"after": ":", "records": True}


def test_an_id_may_not_come_back_in_a_later_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BLOCK_ROWS", 1)
    with pytest.raises(DuplicateRecord, match="trips, row 3"):
        released("1:ab\n2:ab\n1:aba\n", keyed(), IDS)
    with pytest.raises(InvalidWord, match="row 2: its id is missing"):
        released("1:ab\n:ab\n", keyed(), IDS)


@pytest.mark.parametrize("seeded", [False, True])
def test_blocks_and_workers_do_not_matter(monkeypatch: pytest.MonkeyPatch, *, seeded: bool) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0)
    text = "".join(f"{k}:{walk}\n" for k, walk in enumerate(walks(60)))
    outputs = set()
    for rows, processes in ((7, 1), (1000, 1), (13, 2)):
        monkeypatch.setattr(running, "BLOCK_ROWS", rows)
        chosen = plan(epsilon=1, rng=SeededBits(3)) if seeded else keyed()
        outputs.add(released(text, chosen, IDS, workers=processes)[0])
    assert len(outputs) == 1
    # Equal trips have noise of their own.
    (output,) = outputs
    assert len({line.split(":")[1] for line in output.split()}) > 20


def test_a_killed_process_of_the_pool_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0)
    monkeypatch.setattr(running, "BLOCK_ROWS", 20)
    text = "".join(f"{k}:{walk}\n" for k, walk in enumerate(walks(200)))
    expected, _ = released(text, keyed(), IDS)
    chosen = keyed()
    pool = workers.Processes(chosen, 2)

    def kill(_: int) -> None:
        for process in (pool._pool._executor._processes or {}) if pool._pool else {}:
            os.kill(process, signal.SIGKILL)

    try:
        assert released(text, chosen, IDS, workers=pool, advance=kill)[0] == expected
        assert pool._workers == 1
    finally:
        pool.close()


def test_a_plan_pickles_and_releases_the_same() -> None:
    chosen = keyed()
    block = engine.Block([1, 2], [list("abab"), list("cab")], ["x", "y"])
    copy = pickle.loads(pickle.dumps(chosen))
    assert copy.engine is chosen.engine
    monkey = pickle.loads(pickle.dumps(chosen))
    monkey._token = bytes(16)
    assert monkey.engine is not chosen.engine
    assert monkey.engine.release(block) == chosen.engine.release(block)
    assert monkey.digest() == chosen.digest()


def test_what_changes_the_law_changes_the_digest_and_nothing_else_does() -> None:
    base = {"epsilon": "1/3", "rng": KeyedBits(bytes(16)), "record_column": "id"}
    other = MarkovChain(states="abc", transitions={s: {"a": 1} for s in "abc"})
    changed = [
        plan(**base),
        plan(other, **base),
        plan(**{**base, "epsilon": "1/2"}),
        plan(**base, adjacency=2),
        plan(**base, mechanism="exponential"),
        plan(**base, costs={(x, y): int(x != y) for x in "abc" for y in "abc"}),
        plan("all:abc", **base),
    ]
    assert len({one.digest() for one in changed}) == len(changed)
    assert plan(**base, column="x").digest() == changed[0].digest()
    assert "0000" not in repr(changed[0])


def test_lengths_share_one_seeded_source() -> None:
    outputs = [released("abab\nab\n" * 30, plan(epsilon=1, rng=SeededBits(3)))[0] for _ in range(2)]
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) > 8


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("online", {"costs": "c.csv"}),
        ("online", {"certificate": "c"}),
        ("exponential", {"costs": "c.csv", "certificate": "c"}),
        ("calibrated", {"costs": "c.csv"}),
    ],
)
def test_options_that_exclude_each_other(name: str, options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument):
        MechanismChoice(name, Privacy.of(epsilon=1, adjacency=1), **options)


@pytest.mark.parametrize("name", ["permute-and-flip", "exponential", "online"])
def test_mechanisms_are_built_by_name(name: str) -> None:
    privacy = Privacy.of(epsilon="1/3", adjacency=2)
    language = CHAIN.language(4)
    built = MechanismChoice(name, privacy).build(language, SymbolTexts(language.alphabet))
    assert (built.name, built.privacy) == (name, privacy)
