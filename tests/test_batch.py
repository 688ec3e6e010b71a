"""Whole tables: blocks, lengths, order, and what is forgotten."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from dpauto import KeyedBits, Language, MarkovChain, PermuteAndFlip, SeededBits, batch
from dpauto.batch import MechanismChoice, TripReleaser
from dpauto.errors import DuplicateRecord, EmptyLanguage, InvalidArgument, UnknownSymbol
from dpauto.formats import SymbolTexts
from dpauto.formats.trips import Separator, TextTrips
from dpauto.privacy import Privacy

CHAIN = MarkovChain(
    states="abc", transitions={"a": {"b": 1}, "b": {"a": 0.5, "c": 0.5}, "c": {"a": 0.5, "c": 0.5}}
)


def source(text: str, **options: Any) -> TextTrips:
    options = {"after": None, "separator": Separator(""), **options}
    return TextTrips(io.StringIO(text), "trips", **options)


def releaser(epsilon: int, rng: Any = None, language: Any = CHAIN.language) -> TripReleaser:
    return TripReleaser(
        language, lambda words, _: PermuteAndFlip(words, epsilon=epsilon, adjacency=1), rng=rng
    )


def released(text: str, **options: Any) -> tuple[str, batch.Outcome]:
    trips, out = source(text), io.BytesIO()
    outcome = releaser(options.pop("epsilon", 900)).release(trips, trips.writer(out), **options)
    return out.getvalue().decode(), outcome


def walks(count: int) -> Iterator[str]:
    for k in range(count):
        yield "".join(CHAIN.sample(1 + k * k % 7, k))


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_blocks_of_any_size_keep_the_order(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(batch, "BLOCK_ROWS", rows)
    text = "#x\n".join(f"{walk}\n" for walk in walks(20))
    seen: list[int] = []
    out, outcome = released(text, advance=seen.append)
    assert out == text
    assert outcome.released == 20
    assert outcome.lengths == {1 + k * k % 7 for k in range(20)}
    assert (sum(seen), max(seen)) == (39, min(rows, 39))


def test_long_words_end_a_block_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BLOCK_SYMBOLS", 10)
    seen: list[int] = []
    released("abab\n" * 7, advance=seen.append)
    assert seen == [3, 3, 1]


def test_each_length_is_compiled_once_and_forgotten_when_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[int] = []

    def language(length: int) -> Language:
        compiled.append(length)
        return CHAIN.language(length)

    text = "abab\nab\naba\n" * 3
    monkeypatch.setattr(batch, "BLOCK_ROWS", 3)
    for room, expected in ((10**6, [4, 2, 3]), (0, [4, 2, 3, 4, 2, 3, 4, 2, 3])):
        monkeypatch.setattr(batch, "KEPT_EDGES", room)
        compiled.clear()
        trips, out = source(text), io.BytesIO()
        releaser(900, language=language).release(trips, trips.writer(out))
        assert compiled == expected
        assert out.getvalue().decode() == text


def test_the_first_bad_row_of_a_block_is_named_and_nothing_of_the_block_written() -> None:
    trips, out = source("ab\nax\nbb\n"), io.BytesIO()
    with pytest.raises(UnknownSymbol, match="trips, row 2: the symbol at position 2"):
        releaser(1).release(trips, trips.writer(out))
    assert out.getvalue() == b""


def test_skipped_rows_are_listed_in_order() -> None:
    chain = MarkovChain(states="abc", transitions={"a": {"b": 1}, "b": {"c": 1}})
    trips, out = source("abca\nab\n\nxy\nabc\nabcab\n"), io.BytesIO()
    outcome = releaser(900, language=chain.language).release(trips, trips.writer(out), skip=True)
    assert out.getvalue() == b"ab\nabc\n"
    assert outcome.skipped == [1, 3, 4, 6]
    trips = source("abca\n")
    with pytest.raises(EmptyLanguage, match="trips, row 1"):
        releaser(900, language=chain.language).release(trips, trips.writer(io.BytesIO()))


def test_an_id_may_not_come_back_in_a_later_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BLOCK_ROWS", 1)
    trips = source("1:ab\n2:ab\n1:aba\n", after=":", records=True)
    keyed = releaser(1, KeyedBits(bytes(16)))
    with pytest.raises(DuplicateRecord, match="trips, row 3"):
        keyed.release(trips, trips.writer(io.BytesIO()), keyed=True)


def test_lengths_share_one_seeded_source() -> None:
    outputs = []
    for _ in range(2):
        trips, out = source("abab\nab\n" * 30), io.BytesIO()
        releaser(1, SeededBits(3)).release(trips, trips.writer(out))
        outputs.append(out.getvalue())
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
