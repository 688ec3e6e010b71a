"""Runs that are killed and go on: nothing lost, nothing released twice, the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dpauto import KeyedBits, ReleasePlan
from dpauto.batch import Journal, running
from dpauto.batch.engine import Block
from dpauto.cli import main
from dpauto.errors import InvalidArgument, InvalidFile, InvalidWord

ROWS = 1500
EDGES = "source,target\na,b\nb,a\nb,c\nc,a\nc,c\n"
COMMAND = [
    *("release", "t.csv", "--model", "roads.csv", "--epsilon", "1", "--on-error", "skip"),
    *("--key-file", "key", "--id", "id", "--resume"),
]
#: The command line with small blocks, so that there is much to interrupt.
SMALL = (
    "import sys; from dpauto.batch import running; running.BLOCK_ROWS = 50\n"
    "from dpauto.cli import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text(EDGES)
    (tmp_path / "key").write_bytes(bytes(range(32)))
    words = random.Random(5)
    rows = []
    for k in range(ROWS):
        word = words.choices("abc", k=words.randint(2, 9)) if k % 97 else ["hidden"]
        rows.append(f"{k},{' '.join(word)},note {k}\n")
    (tmp_path / "t.csv").write_text("id,trip,note\n" + "".join(rows))
    return tmp_path


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SMALL, *COMMAND, *arguments], stderr=subprocess.PIPE
    )


def killed_once(folder: Path, *arguments: str) -> bytes:
    """Kill a run after three blocks; return what all its processes said when they are gone."""
    with start("-o", "out.csv", *arguments) as process:
        assert killed(process, folder / ".out.csv.journal", 3)
        assert process.stderr is not None
        # Whoever still lives holds the other end of this pipe.
        return process.stderr.read()


def killed(process: subprocess.Popen[bytes], journal: Path, blocks: int) -> bool:
    """Kill a run as soon as its journal has so many blocks; tell whether it was still at work."""
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > blocks:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    return False


def finished(process: subprocess.Popen[bytes]) -> str:
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0
    return error.decode()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_killed_run_goes_on_and_writes_the_same_bytes(folder: Path, workers: str) -> None:
    report = finished(start("-o", "whole.csv"))
    assert f"left out {-(-ROWS // 97)} of {ROWS} trips" in report
    moments = random.Random(int(workers))
    journal = folder / ".out.csv.journal"
    done, kills = 0, 0
    while True:
        # After three deaths it may live.
        blocks = done + moments.randint(1, 8) if kills < 3 else 10**6
        with start("-o", "out.csv", "--workers", workers) as process:
            if not killed(process, journal, blocks):
                break
        kills += 1
        assert not (folder / "out.csv").exists()
        entries = journal.read_bytes().split(b"\n")[:-1]
        # Every kill leaves a longer journal: nothing that was on the disk is done again.
        assert len(entries) > done + 1
        done = len(entries) - 1
        # Half a line is what dying in the middle of a write leaves.
        with journal.open("ab") as torn:
            torn.write(b'{"seal":"00')
    assert kills == 3
    assert (folder / "out.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert sorted(p.name for p in folder.iterdir()) == [
        *("key", "out.csv", "roads.csv", "t.csv", "whole.csv")
    ]


def test_a_killed_run_leaves_a_journal_without_secrets_and_no_process(folder: Path) -> None:
    assert killed_once(folder, "--workers", "2") == b""
    journal = folder / ".out.csv.journal"
    head, *entries = journal.read_text().splitlines()
    assert sorted(json.loads(head)) == ["dpauto journal", "plan"]
    assert {key for entry in entries[:3] for key in json.loads(entry)} == {"seal", "released"}
    everything = head + "".join(entries)
    assert "hidden" not in everything
    assert "note" not in everything
    assert bytes(range(32)).hex() not in everything
    assert journal.stat().st_mode & 0o077 == 0


def test_another_run_does_not_go_on_from_a_journal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_once(folder)
    monkeypatch.setattr(running, "BLOCK_ROWS", 50)
    before = (folder / ".out.csv.journal").read_bytes()
    for change in (
        ["--epsilon", "2"],
        ["--adjacency", "2"],
        ["--model", "all:abc"],
        ["--on-error", "stop"],
        ["--key-file", "roads.csv"],
        ["--mechanism", "online"],
    ):
        assert main([*COMMAND, *change, "-o", "out.csv"]) == 2
        assert "the interrupted run had another model, key or option" in capsys.readouterr().err
    table = (folder / "t.csv").read_text()
    for old, new in (("\n7,", "\nseven,"), ("hidden", "hidden a")):
        (folder / "t.csv").write_text(table.replace(old, new))
        assert main([*COMMAND, "-o", "out.csv"]) == 2
        assert "the trips changed after the interrupted run, from row 2 on" in (
            capsys.readouterr().err
        )
    assert (folder / ".out.csv.journal").read_bytes() == before
    assert not (folder / "out.csv").exists()
    (folder / "t.csv").write_text(table)
    assert main([*COMMAND, "-o", "out.csv"]) == 0


def plan() -> ReleasePlan:
    return ReleasePlan("all:ab", epsilon=1, rng=KeyedBits(bytes(16)), record_column="id")


def test_two_runs_on_one_output_exclude_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with start("-o", "out.csv") as process:
        while not (folder / ".out.csv.journal").exists():
            time.sleep(0.002)
        time.sleep(0.1)
        process.send_signal(signal.SIGSTOP)
        assert main([*COMMAND, "-o", "out.csv"]) == 2
        process.send_signal(signal.SIGCONT)
        assert process.wait() == 0
    assert "another process is at work on this output" in capsys.readouterr().err


def test_what_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    path = tmp_path / ".out.csv.journal"
    path.write_text("my notes\n")
    with pytest.raises(InvalidFile, match="not a journal"):
        Journal(str(output), plan())
    assert path.read_text() == "my notes\n"
    path.unlink()
    block = Block([1], [["a"]], ["x"])
    with Journal(str(output), plan()) as journal:
        assert journal.recall(block) is None
        journal.remember(block, [["b"]])
    path.write_text(path.read_text().replace('{"seal"', '["seal"'))
    with Journal(str(output), plan()) as journal, pytest.raises(InvalidFile, match="not a journal"):
        journal.recall(block)


def test_a_journal_gives_back_what_it_was_told(tmp_path: Path) -> None:
    output = str(tmp_path / "out.csv")
    blocks = [Block([k, k + 1], [["a"], ["b", "a"]], [f"x{k}", f"y{k}"]) for k in range(5)]
    results: list[Any] = [["b"], InvalidWord("")]
    for block in blocks:
        with Journal(output, plan()) as journal:
            for before in blocks[: blocks.index(block)]:
                recalled = journal.recall(before)
                assert recalled is not None
                assert recalled[0] == ["b"]
                assert isinstance(recalled[1], InvalidWord)
            assert journal.recall(block) is None
            journal.remember(block, results)
    with Journal(output, plan()) as journal, pytest.raises(InvalidArgument, match="trips changed"):
        journal.recall(blocks[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "-"], "resume: only a run that writes a file can be resumed"),
        (["-o", os.devnull], "resume: only a run that writes a file can be resumed"),
    ],
)
def test_what_cannot_be_resumed(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *arguments]) == 2
    assert capsys.readouterr().err == f"dpauto: {message}\n"
    # A run that fails at once leaves no journal behind.
    assert main([*COMMAND, "--on-error", "stop", "-o", "x.csv"]) == 2
    assert "t.csv, row 2, column trip" in capsys.readouterr().err
    assert not list(folder.glob(".x.csv*"))
    options = ["--model", "all:ab", "--epsilon", "1", "--resume", "-o", "x.csv"]
    assert main(["release", "t.csv", *options]) == 2
    assert "--resume needs --key-file" in capsys.readouterr().err
