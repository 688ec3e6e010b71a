"""Every command but release, and what holds for all of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

import dpauto
from dpauto.accuracy import compare
from dpauto.calibration import certify
from dpauto.cli import commands, main
from dpauto.cli.show import count_text
from dpauto.formats import MODEL_FORMATS, read_model

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
EDGES = "source,target\na,b\nb,a\nb,c\nc,a\nc,c\n"
NAMES = commands.list_commands(click.Context(commands))


def facts(text: str) -> dict[str, str]:
    """Read the two columns that show and certify print."""
    rows = (re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


# -- show -----------------------------------------------------------------------------------------


def test_show_counts_exactly(run: Any) -> None:
    run.file("roads.csv", EDGES)
    assert run("show", "roads.csv", "--length", "20", "--adjacency", "2") == 0
    shown = facts(run.out)
    chain: Any = read_model("roads.csv")
    assert shown["words"] == f"{chain.language(20).count():,}"
    assert (shown["states"], shown["transitions"]) == ("3", "5")
    assert shown["start"] == "any state"
    assert "nearly empty" not in run.out


def test_show_tells_ambiguity_and_big_counts(run: Any) -> None:
    assert run("show", "regex:(ab|ba|a)*", "--length", "9") == 0
    assert facts(run.out)["ambiguous"].startswith("yes")
    assert run("show", "regex:(ab)*", "--length", "8") == 0
    assert facts(run.out)["ambiguous"].startswith("no")
    assert run("show", "all:abc", "--length", "100", "--samples", "3") == 0
    assert facts(run.out)["words"] == "about 5.154e+47 (48 digits)"


@pytest.mark.parametrize("digits", [1, 5, 29, 30, 31, 48, 300])
def test_counts_in_text(digits: int) -> None:
    for count in (10 ** (digits - 1), 10**digits - 1):
        text = count_text(count)
        if digits <= 30:
            assert text.replace(",", "") == str(count)
        else:
            assert text.endswith(f"({digits} digits)")
            assert abs(float(text.split()[1]) / float(count) - 1) < 1e-3


def test_show_warns_when_the_guarantee_is_nearly_empty(run: Any) -> None:
    # A ring: the start decides everything, so no other word is near.
    run.file("ring.csv", "u,v\na,b\nb,c\nc,a\n")
    assert run("show", "ring.csv", "--length", "9", "--adjacency", "3") == 0
    assert "The guarantee is nearly empty" in run.out
    assert facts(run.out)["alone"].startswith("100%")


def test_show_says_what_every_kind_of_model_is(run: Any) -> None:
    run.file("m.tra", "2 3 4\n0 0 1 1 up\n1 0 0 0.5 go\n1 0 1 0.5 go\n1 1 0 1\n")
    assert run("show", "m.tra", "--length", "3", "--observe", "both") == 0
    assert facts(run.out)["kind"] == "MDP"
    assert facts(run.out)["start"] == "0 (public, not in the word)"
    run.file("w.txt", "cat\ncow\n")
    assert run("show", "w.txt", "--format", "words", "--separator", "", "--length", "3") == 0
    assert facts(run.out)["kind"] == "list of 2 words"
    assert run("show", "all:ab", "--length", "3", "--observe", "both") == 2
    assert run.err == "dpauto: observe: only MDPs have actions to observe\n"


# -- error ----------------------------------------------------------------------------------------


def test_error_prints_the_exact_values(run: Any) -> None:
    run.file("roads.csv", EDGES)
    run.file("t.txt", "# sample\na b c\nb a b\nc c\n")
    command = ["error", "roads.csv", "--trips", "t.txt", "--epsilon", "1/2,3", "--adjacency", "2"]
    assert run(*command) == 0
    chain: Any = read_model("roads.csv")
    three = compare(chain.language(3), ["abc", "bab"], epsilons=["1/2", 3], adjacency=2)
    two = compare(chain.language(2), ["cc"], epsilons=["1/2", 3], adjacency=2)
    lines = run.out.splitlines()[3:]
    assert len(lines) == 6
    for line, one, other in zip(lines, three, two, strict=True):
        epsilon, mechanism, mean, deviation, unchanged = line.split()
        assert (float(epsilon), mechanism) == (float(one.epsilon), one.mechanism)
        assert float(mean) == pytest.approx((2 * one.mean + other.mean) / 3, abs=6e-5)
        square = (2 * (one.deviation**2 + one.mean**2) + other.deviation**2 + other.mean**2) / 3
        assert float(deviation) ** 2 == pytest.approx(square - float(mean) ** 2, abs=2e-3)
        expected = (2 * one.unchanged + other.unchanged) / 3
        assert float(unchanged.rstrip("%")) / 100 == pytest.approx(expected, abs=6e-5)
    assert run(*command, "--most", "1") == 0
    assert run.out.startswith("1 trips of 3.0 symbols")


@pytest.mark.parametrize("calibrate", [True, False])
def test_error_has_calibrated_rows(run: Any, calibrate: bool) -> None:
    run.file("roads.csv", EDGES)
    run.file("t.txt", "a b c\nb a b a\nb c\n")
    chain: Any = read_model("roads.csv")
    language = chain.language(3)
    certificate = certify(language, epsilon=3, adjacency=1, mechanism="calibrated")
    certificate.save("three.certificate")
    command = ["error", "roads.csv", "--trips", "t.txt", "--length", "3", "--epsilon", "1,3"]
    extra = ["--calibrate"] if calibrate else ["--certificate", "three.certificate"]
    assert run(*command, *extra) == 0
    assert run.out.startswith("2 trips of 3.0 symbols")
    lines = [line.split() for line in run.out.splitlines()[3:]]
    plain = ["permute-and-flip", "exponential", "online"]
    assert [line[1] for line in lines] == (
        [*plain, "calibrated", *plain, "calibrated"]
        if calibrate
        else [*plain, *plain, "calibrated"]
    )
    words = ["abc", "bab"]
    rows = compare(
        language, words, epsilons=[3], adjacency=1, certificates={3: certificate}, mechanisms=[]
    )
    assert float(lines[-1][2]) == pytest.approx(rows[0].mean, abs=6e-5)
    assert rows[0].mean < float(lines[-4][2])


def test_error_weighs_calibrated_rows_of_all_lengths(run: Any) -> None:
    run.file("roads.csv", EDGES)
    run.file("t.txt", "a b c\nb a\nb c\n")
    chain: Any = read_model("roads.csv")
    mean = 0.0
    for words in (["abc"], ["ba", "bc"]):
        language = chain.language(len(words[0]))
        certificate = certify(language, epsilon=3, adjacency=1, mechanism="calibrated")
        arguments: Any = {"epsilons": [3], "adjacency": 1, "mechanisms": []}
        rows = compare(language, words, certificates={3: certificate}, **arguments)
        mean += len(words) * rows[0].mean / 3
    assert run("error", "roads.csv", "--trips", "t.txt", "--epsilon", "3", "--calibrate") == 0
    assert float(run.out.splitlines()[-1].split()[2]) == pytest.approx(mean, abs=6e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "4"], "2.certificate: it is for epsilon 3 and adjacency 1, which are not"),
        (["--epsilon", "3", "--adjacency", "2"], "2.certificate: it is for epsilon 3"),
        (["--epsilon", "3"], "certificates: none is for epsilon 3 and trips of 3 symbols"),
        (["--epsilon", "3", "--length", "3"], "2.certificate: no trip has its length, 2"),
        (["--epsilon", "3", "--length", "4"], "t.txt: there is no trip of at least 4 symbols"),
        (["--epsilon", "3", "--length", "2", "--trips", "bad.txt"], "bad.txt, row 2: the trip is"),
        (["--epsilon", "3", "--certificate", "t.txt"], "t.txt: certificate: the file must hold"),
        (
            ["--epsilon", "3", "--length", "2", "--most", "1", "--initial", "c"],
            "2.certificate: cert",
        ),
    ],
)
def test_error_refuses_certificates(run: Any, arguments: list[str], message: str) -> None:
    run.file("roads.csv", EDGES)
    run.file("t.txt", "a b c\nb a\n")
    run.file("bad.txt", "a b\na c\n")
    language: Any = read_model("roads.csv")
    certify(language.language(2), epsilon=3, adjacency=1).save("2.certificate")
    command = ["error", "roads.csv", "--trips", "t.txt", "--certificate", "2.certificate"]
    assert run(*command, *arguments) == 2
    assert run.err.startswith(f"dpauto: {message}")
    assert run.err.count("\n") == 1


def test_error_plots(run: Any) -> None:
    pytest.importorskip("matplotlib")
    run.file("t.txt", "a b a\n")
    command = ["error", "all:abc", "--trips", "t.txt", "--epsilon", "1,2", "--plot", "e.svg"]
    assert run(*command) == 0
    assert "<svg" in (run.folder / "e.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "1,,2"], "epsilon must be a positive number"),
        (["--epsilon", "1", "--adjacency", "0"], "adjacency must be"),
        (["--epsilon", "1", "--most", "0"], "the number of trips must be at least 1"),
        (["--epsilon", "1", "--trips", "u.txt"], "u.txt, row 1: the symbol at position 2"),
        (["--epsilon", "1", "--trips", "c.txt"], "c.txt: there is no trip"),
        (["--epsilon", "1", "--trips", "e.txt"], "e.txt, row 1: the trip is empty"),
    ],
)
def test_error_refuses(run: Any, arguments: list[str], message: str) -> None:
    run.file("t.txt", "a b a\n")
    run.file("u.txt", "a x\n")
    run.file("c.txt", "# nothing\n")
    run.file("e.txt", "\n")
    assert run("error", "all:ab", "--trips", "t.txt", *arguments) == 2
    assert run.err.startswith(f"dpauto: {message}")
    assert run.err.count("\n") == 1


# -- draw -----------------------------------------------------------------------------------------


def test_draw_models_and_words(run: Any) -> None:
    run.file("roads.csv", EDGES)
    assert run("draw", "roads.csv", "-o", "roads.dot") == 0
    assert (run.folder / "roads.dot").read_text().count("->") >= 5
    assert run("draw", "--word", "a b b a", "--errors", "2", "-o", "mnfa.dot") == 0
    free = (run.folder / "mnfa.dot").read_text()
    command = ["--word", "a b a", "--errors", "1", "--model", "roads.csv", "-o", "near.dot"]
    assert run("draw", *command) == 0
    assert "digraph" in free
    assert (run.folder / "near.dot").read_text() != free


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to draw"),
        (["all:ab", "--model", "all:ab"], "MODEL is given twice"),
        (["--word", "a b"], "--word needs --errors"),
        (["regex:ab", "--errors", "1"], "--errors goes with --word"),
        (["--word", " ", "--errors", "0"], "--word must have at least one symbol"),
        (["--word", "a b", "--errors", "3"], "errors must be a whole number from 0"),
        (["regex:(ab)*", "-o", "x.txt"], "path must end in"),
        (["all:ab"], "all:ab has no states to draw; draw a --word of it"),
        (
            ["regex:(a{60})*"],
            "the graph has 61 nodes, more than the 50 that can be read in a drawing",
        ),
    ],
)
def test_draw_refuses(run: Any, arguments: list[str], message: str) -> None:
    output = [] if "-o" in arguments else ["-o", "x.dot"]
    assert run("draw", *arguments, *output) == 2
    assert run.err.startswith(f"dpauto: {message}")
    # The way out is named as on the command line, not as in Python.
    assert "limit=" not in run.err
    assert run.names() == []


@pytest.mark.parametrize(
    "arguments",
    [["draw", "m.dot"], ["certify", "m.dot", "--length", "2", "--epsilon", "1"]],
)
def test_no_command_replaces_its_model(run: Any, arguments: list[str]) -> None:
    run.file("m.dot", "digraph { a -> a }")
    assert run(*arguments, "-o", "./m.dot") == 2
    assert run.err == "dpauto: --output would replace m.dot, which this command reads\n"
    assert (run.folder / "m.dot").read_text() == "digraph { a -> a }"


# -- audit and demo -------------------------------------------------------------------------------


def test_audit_prints_the_true_epsilon(run: Any) -> None:
    pattern = "regex:(a|b)*aba(a|b)*"
    assert run("audit", pattern, "--length", "6", "--epsilon", "2") == 0
    model: Any = read_model(pattern)
    mechanism = dpauto.PermuteAndFlip(model.language(6), epsilon=2)
    assert float(facts(run.out)["true epsilon"]) == pytest.approx(float(dpauto.audit(mechanism)))
    assert run("audit", pattern, "--length", "6", "--epsilon", "2", "--over", "all-words") == 0
    assert float(facts(run.out)["true epsilon"]) <= 2
    assert run("audit", "all:abcd", "--length", "30", "--epsilon", "2") == 2
    assert run.err.count("\n") == 1


def test_demo_shows_and_writes_what_happened(run: Any) -> None:
    assert run("demo", "--trips", "3", "--length", "5", "--seed", "4") == 0
    table = re.findall(r"^((?:\d+ ){4}\d+) +((?:\d+ ){4}\d+) +(\d)$", run.out, re.MULTILINE)
    assert len(table) == 3
    roads: Any = read_model("demo-output/roads.graphml")
    assert (roads.initial, len(roads.states), roads.to_matrix().nnz) == ("10", 24, 76)
    for before, after, wrong in table:
        assert roads.feasible(before.split())
        assert roads.feasible(after.split())
        assert dpauto.hamming_distance(before.split(), after.split()) == int(wrong)
    released = (run.folder / "demo-output" / "released.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in released[1:]] == [after for _, after, _ in table]
    observed = float(re.search(r"observed +([\d.]+)", run.out)[1])
    expected = float(re.search(r"expected +([\d.]+) +permute-and-flip", run.out)[1])
    assert observed == pytest.approx(expected, abs=0.5)
    # The command that it proposes works.
    proposed = run.out.splitlines()[-1].split()
    assert proposed[0] == "dpauto"
    assert run(*proposed[1:]) == 0
    assert run.out.startswith("id,trip\n")


def test_demo_says_which_picture_is_missing(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert run("demo", "--trips", "1", "--length", "3") == 0
    assert "no map: plots need matplotlib" in run.out
    assert not (run.folder / "demo-output" / "trip.svg").exists()


# -- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_a_section_in_the_reference(run: Any, name: str) -> None:
    assert run(name, "--help") == 0
    assert run.out.startswith(f"Usage: dpauto {name}")
    text = PAGE.read_text("utf-8")
    assert f"\n## dpauto {name}\n" in text
    assert f"$ dpauto {name} " in text


def test_every_format_is_in_the_reference() -> None:
    text = PAGE.read_text("utf-8")
    assert [name for name in MODEL_FORMATS if f"| `{name}` |" not in text] == []


def test_release_says_that_lengths_are_published(run: Any) -> None:
    assert run("release", "--help") == 0
    assert "The LENGTH of every word is published" in " ".join(run.out.split())


def test_without_arguments_comes_the_help(run: Any) -> None:
    assert run() == 0
    assert all(re.search(rf"^  {name} ", run.out, re.MULTILINE) for name in NAMES)
    assert run("--version") == 0
    assert run.out == f"dpauto {dpauto.__version__}\n"
    assert run("no-such-command") == 2
    assert run.err.count("\n") == 1


def test_warnings_come_last_and_once(run: Any) -> None:
    run.file("log.seq", "a b a\nb a b\n")
    assert run("show", "log.seq", "--length", "3") == 0
    assert re.fullmatch(r"dpauto: warning: the fitted chain's support[^\n]*\n", run.err)


def test_a_missing_package_is_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run.file("m.dot", "digraph { a -> b }")
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert run("show", "m.dot", "--length", "1") == 2
    assert run.err == "dpauto: m.dot: reading DOT needs pygraphviz: pip install 'dpauto[draw]'\n"


def test_a_damaged_dot_file_is_told_in_one_line(run: Any) -> None:
    pytest.importorskip("pygraphviz")
    run.file("m.dot", "digraph { a -> ")
    assert run("show", "m.dot", "--length", "1") == 2
    assert run.err == "dpauto: m.dot, row 1: not DOT\n"


def test_an_error_of_our_own_shows_its_place_and_no_text(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("hidden")

    monkeypatch.setattr("dpauto.formats.symbols.SymbolTexts.parse", broken)
    run.file("t.txt", "hidden\n")
    command = ["release", "t.txt", "--model", "all:ab", "--epsilon", "1"]
    assert run(*command) == 1
    assert re.fullmatch(r"dpauto: internal error: KeyError in .*, line \d+; .*\n", run.err)
    assert "hidden" not in run.err
    monkeypatch.setenv("DPAUTO_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run(*command)


def test_progress_is_for_terminals_only(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run.file("t.txt", "a b\n")
    command = ["release", "t.txt", "--model", "all:ab", "--epsilon", "9"]
    assert run(*command) == 0
    assert run.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run(*command) == 0
    assert "trips" in run.err


def process(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dpauto", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )


def test_a_broken_pipe_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a b a b a b a b\n" * 20_000)
    arguments = ("release", "t.txt", "--model", "all:ab", "--epsilon", "9")
    with process(*arguments, cwd=tmp_path) as running:
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 141


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with process(
        *("release", "-", "--model", "all:ab", "--epsilon", "9", "-o", "out.txt"),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
    ) as running:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        running.send_signal(number)
        assert running.wait() == 128 + number
        assert running.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_main_is_the_function_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dpauto ")


# -- certify --------------------------------------------------------------------------------------


def test_certify_writes_and_checks_a_certificate(run: Any) -> None:
    common = ["--length", "6", "--epsilon", "4", "-o", "c.json"]
    assert run("certify", "all:abcd", *common) == 0
    certified = run.out
    assert facts(certified)["exponent"].startswith("4, 2.000 times")
    assert run("certify", "--check", "c.json", "--model", "all:abcd") == 0
    assert run.out == certified + "checked    it holds for this model\n"
    assert dpauto.Certificate.load("c.json").check(read_model("all:abcd").language(6)) is None
    assert run("certify", "--check", "c.json", "--model", "all:abc") == 2
    assert run.err.startswith("dpauto: c.json: certificate is for another language")
    text = (run.folder / "c.json").read_text().replace('"exponent": "4"', '"exponent": "5"')
    run.file("c.json", text)
    assert run("certify", "--check", "c.json", "--model", "all:abcd") == 2
    assert run.err == "dpauto: c.json: certificate has been changed: its digest does not fit\n"


def test_a_certificate_can_go_to_standard_output(run: Any) -> None:
    assert run("certify", "all:abcd", "--length", "6", "--epsilon", "4", "-o", "-") == 0
    assert json.loads(run.out)["exponent"] == "4"
    assert facts(run.err)["exponent"].startswith("4, 2.000 times")
    assert run.names() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one MODEL"),
        (["all:ab", "--model", "all:ab"], "name one MODEL"),
        (["all:ab", "--length", "3"], "certify needs --length, --epsilon and -o (or --check)"),
        (["all:ab", "--check", "no.json"], "no.json: No such file or directory"),
        (["all:ab", "--length", "0", "--epsilon", "1", "-o", "c"], "length must be"),
        (
            ["all:ab", "--length", "9", "--epsilon", "1", "-o", "no/c"],
            "no/c: No such file or directory",
        ),
        # Two words that no two substitutions connect.
        (["w.txt", "--format", "words", "--length", "1", "--epsilon", "1", "-o", "c"], ""),
    ],
)
def test_certify_refuses(run: Any, arguments: list[str], message: str) -> None:
    run.file("w.txt", "a\n")
    assert run("certify", *arguments) == 2
    assert run.err.startswith(f"dpauto: {message}")
    assert run.err.count("\n") == 1
    assert run.names() == ["w.txt"]
