"""What a plan takes, refuses and carries."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpauto import (
    MDP,
    Costs,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
    KeyedBits,
    Language,
    MarkovChain,
    PermuteAndFlip,
    ReleasePlan,
    certify,
)
from dpauto.batch.engine import Block
from dpauto.batch.observed import ObservedModel
from dpauto.batch.records import SeenRecords
from dpauto.formats import Model, read_model

KEY = KeyedBits(bytes(range(32)))
CHAIN = MarkovChain(states="ab", transitions={"a": {"a": 0.5, "b": 0.5}, "b": {"a": 1}})


def keyed(model: Any, **options: Any) -> ReleasePlan:
    return ReleasePlan(model, **{"epsilon": 1, "rng": KEY, "record_column": "id", **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": None}, InvalidArgument, "model must be"),
        ({"model": "all:"}, InvalidArgument, "all: must be followed"),
        ({"model": "no.csv"}, OSError, "no.csv"),
        ({"epsilon": 0}, InvalidArgument, "epsilon must be"),
        ({"on_error": "raise"}, InvalidArgument, "on_error must be"),
        ({"mechanism": "magic"}, InvalidArgument, "mechanism must be 'permute-and-flip'"),
        ({"record_column": None}, InvalidArgument, "with KeyedBits every word needs an id"),
        ({"rng": "dice"}, InvalidArgument, "rng must be"),
        ({"observe": "both"}, InvalidArgument, "only MDPs have actions"),
        ({"costs": "no.csv"}, OSError, "no.csv"),
    ],
)
def test_what_a_plan_refuses(options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        keyed(**{"model": CHAIN, **options})


def test_costs_and_models_are_read_where_the_plan_is_made(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text("true,written,cost\na,b,1\nb,a,3\n")
    (tmp_path / "m.csv").write_text("source,target\na,b\nb,a\na,a\n")
    plan = keyed(str(tmp_path / "m.csv"), costs=str(tmp_path / "costs.csv"))
    for file in tmp_path.iterdir():
        file.unlink()
    mechanism = pickle.loads(pickle.dumps(plan)).engine.mechanism(3)
    assert mechanism.costs.matrix.tolist() == [[0, 1], [3, 0]]
    plan._token = bytes(16)
    assert plan.engine.mechanism(3).costs.spread == 3


def test_a_language_serves_its_own_length() -> None:
    plan = keyed(Language.of(["ab", "ba"]))
    good, bad = plan.engine.release(Block([1, 2], [["a", "b"], ["a"]], ["x", "y"]))
    expected = PermuteAndFlip(Language.of(["ab", "ba"]), epsilon=1).release("ab", KEY, record="x")
    assert good == list(expected)
    assert isinstance(bad, EmptyLanguage)


def test_words_outside_a_certificate_are_told_apart_from_the_others() -> None:
    language = CHAIN.language(4)
    certificate = certify(language, epsilon=1, adjacency=2, mechanism="permute-and-flip")
    plan = keyed(CHAIN, adjacency=2, certificate=certificate)
    block = Block([1, 2], [list("bbbb"), list("abab")], ["x", "y"])
    bad, good = plan.engine.release(block)
    assert isinstance(bad, InvalidWord)
    assert "certificate" in str(bad)
    assert "".join(good) in language
    assert list(plan.engine.problems(block)) == [0]


MODELS: list[Any] = [
    CHAIN,
    MarkovChain(states="ba", transitions={"a": {"a": 0.5, "b": 0.5}, "b": {"a": 1}}),
    MarkovChain(states="ab", transitions={"a": {"a": 0.5, "b": 0.5}, "b": {"b": 1}}),
    MarkovChain(states="ab", transitions={"a": {"a": 0.5, "b": 0.5}, "b": {"a": 1}}, initial="a"),
    Language.of(["ab"]),
    Language.of(["ba"]),
    *map(read_model, ["all:ab", "all:ba", "regex:(ab)*", "regex:(ba)*"]),
]


def test_models_are_told_apart_by_their_digests() -> None:
    mdp = MDP(states="ab", transitions={"a": {"go": {"b": 1}}, "b": {"go": {"a": 1}}})
    models = [
        *map(ObservedModel, MODELS),
        *(ObservedModel(mdp, observe=how) for how in ("states", "actions", "both")),
    ]
    digests = {model.digest() for model in models}
    assert len(digests) == len(models)
    again = {pickle.loads(pickle.dumps(model)).digest() for model in models}
    assert again == digests

    class Strange:
        language = CHAIN.language

    with pytest.raises(InvalidArgument, match="a model of another kind"):
        ObservedModel(Strange()).digest()


def test_costs_are_told_apart_in_every_form() -> None:
    table = {("a", "b"): 1, ("b", "a"): 2}
    forms = [
        *(None, table, {**table, ("a", "b"): 2}),
        *(np.array([[0, 1], [2, 0]]), Costs(table, CHAIN.language(2).alphabet)),
    ]
    digests = [keyed(CHAIN, costs=form).digest() for form in forms]
    assert len(set(digests)) == len(forms)
    assert keyed(CHAIN, costs=dict(reversed(table.items()))).digest() == digests[1]
    with pytest.raises(InvalidArgument, match="a function cannot be compared"):
        keyed(CHAIN, costs=lambda x, y: int(x != y)).digest()


def test_only_plans_that_can_be_asked_again_seal() -> None:
    seals = {keyed(CHAIN).seal("x", 1), keyed(CHAIN).seal("x1"), keyed(CHAIN).seal("x", 2)}
    other = keyed(CHAIN, rng=KeyedBits(bytes(16)))
    assert len({*seals, other.seal("x", 1)}) == 4
    assert ReleasePlan(CHAIN, epsilon=1, rng=3).seal("x") == ReleasePlan(
        CHAIN, epsilon=2, rng=3
    ).seal("x")
    with pytest.raises(InvalidArgument, match="rng must be KeyedBits"):
        ReleasePlan(CHAIN, epsilon=1).seal("x")


def test_seen_ids_are_those_of_a_set() -> None:
    rng = np.random.default_rng(5)
    seen, known = SeenRecords(), set()
    for _ in range(200):
        block = [str(k) for k in rng.integers(0, 40_000, rng.integers(1, 60))]
        expected = None
        for index, record in enumerate(block):
            if record in known and expected is None:
                expected = index
            known.add(record)
        assert seen.add(block) == expected


def test_a_million_trips_script_makes_feasible_walks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = Path(__file__).parents[2] / "examples"
    monkeypatch.syspath_prepend(str(examples))
    monkeypatch.chdir(tmp_path)
    # The last state is a dead end.
    Path("m.csv").write_text("source,target\na,b\nb,a\nb,b\na,c\n")
    arguments = ["script", "m.csv", "--trips", "300", "--length", "2", "5", "-o", "t.csv"]
    monkeypatch.setattr("sys.argv", arguments)
    importlib.import_module("million_trips").main()
    header, *rows = Path("t.csv").read_text().splitlines()
    assert (header, len(rows)) == ("id,person,trip", 300)
    model: Model = read_model("m.csv")
    assert isinstance(model, MarkovChain)
    words = [row.split(",")[2].split() for row in rows]
    assert all(model.feasible(word) for word in words)
    assert {len(word) for word in words} == {2, 3, 4, 5}
