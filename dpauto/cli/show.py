"""``dpauto show``: what a model allows, and whether there is anybody to hide among."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpauto.cli import options

if TYPE_CHECKING:
    from dpauto.models import NFA

__all__ = ["command"]

#: Counts of up to this many digits are written out.
MOST_DIGITS = 30


@click.command("show", short_help="Show what a model allows, and how many neighbours a word has.")
@options.model_argument
@click.option("--length", required=True, type=int, metavar="N", help="Length of the words.")
@options.adjacency_option
@click.option(
    "--samples",
    type=int,
    default=100,
    show_default=True,
    help="Random feasible words whose neighbours are counted.",
)
@options.reading_options
@options.model_options
def command(model: str, length: int, adjacency: int, samples: int, **reading: Any) -> None:
    """Show states, transitions, number of words of length N, ambiguity, and neighbours.

    The guarantee hides a word among the feasible words within B substitutions. Where there are none
    it says little: on road networks in link form B has to be as long as a detour.

    \b
    dpauto show roads.csv --length 20 --adjacency 4
    dpauto show 'regex:(ab|ba)*' --length 12
    """
    from dpauto.accuracy import sampled_neighbours

    chosen = options.read(model, **reading)
    language = chosen.language(length)
    rows = [("model", model), *_facts(chosen.model)]
    rows.append(("length", str(length)))
    rows.append(("words", count_text(language.count())))
    report = sampled_neighbours(language, adjacency=adjacency, samples=samples)
    for distance in range(1, adjacency + 1) if adjacency > 1 else ():
        counts = sorted(near[distance - 1] for near in report.counts if len(near) >= distance)
        if counts and (distance <= 4 or distance == adjacency):
            rows.append((f"at distance {distance}", f"{_spread(counts)} other feasible words"))
    rows.append((f"within {adjacency}", _spread(sorted(report.within)) + " other feasible words"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:{width}}  {value}")
    click.echo(f"{'alone':{width}}  {report.alone:.0%} of {len(report.counts)} sampled words")
    if report.nearly_empty:
        click.echo(
            f"\nThe guarantee is nearly empty: most words have no other feasible word within"
            f" {adjacency}. Take a larger --adjacency."
        )


def _facts(model: Any) -> list[tuple[str, str]]:
    from dpauto.formats.symbols import text_of
    from dpauto.formats.wordsets import EveryWord, WordList
    from dpauto.models import MDP, NFA

    if isinstance(model, EveryWord):
        return [("kind", "every word"), ("symbols", f"{len(model.alphabet):,}")]
    if isinstance(model, WordList):
        total = sum(map(len, model.words_by_length.values()))
        return [("kind", f"list of {total:,} words"), ("symbols", f"{len(model.alphabet):,}")]
    if isinstance(model, NFA):
        kind = "automaton"
        particulars = [
            ("symbols", f"{len(model.alphabet):,}"),
            ("ambiguous", _ambiguity(model)),
        ]
    elif isinstance(model, MDP):
        kind, particulars = "MDP", [("actions", f"{len(model.actions):,}")]
    else:
        kind, particulars = "Markov chain", [("ambiguous", "no: a word is its own run")]
    public = model.initial is not None
    return [
        ("kind", kind),
        ("states", f"{len(model.states):,}"),
        ("transitions", f"{model.number_of_transitions:,}"),
        *particulars,
        ("start", f"{text_of(model.initial)} (public, not in the word)" if public else "any state"),
    ]


def _ambiguity(automaton: NFA) -> str:
    if automaton.is_unambiguous():
        return "no: every word has one run"
    return "yes: words are counted on a deterministic automaton"


def _spread(counts: list[int]) -> str:
    """Return least, median and largest of some sorted counts."""
    low, middle, high = counts[0], counts[len(counts) // 2], counts[-1]
    if low == high:
        return count_text(low)
    return f"{count_text(low)} to {count_text(high)} (median {count_text(middle)})"


def count_text(count: int) -> str:
    """Return an exact count in digits, or as a power of ten where there are too many.

    Examples
    --------
    >>> count_text(1234567), count_text(3**100)
    ('1,234,567', 'about 5.154e+47 (48 digits)')
    """
    if count < 10**MOST_DIGITS:
        return f"{count:,}"
    digits = _digits(count)
    head = count // 10 ** (digits - 5)
    return f"about {head / 10**4:.3f}e+{digits - 1} ({digits:,} digits)"


def _digits(count: int) -> int:
    """Return the number of decimal digits without writing them: huge counts take long to write."""
    digits = int(count.bit_length() * 0.30102999566398120) + 1
    return digits if 10 ** (digits - 1) <= count else digits - 1
