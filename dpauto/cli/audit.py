"""``dpauto audit``: the true epsilon of a mechanism on a small language."""

from __future__ import annotations

from typing import Any

import click

from dpauto.cli import options

__all__ = ["command"]


@click.command("audit", short_help="Prove the true epsilon on a small language.")
@options.model_argument
@click.option("--length", required=True, type=int, metavar="N", help="Length of the words.")
@options.epsilon_option
@options.adjacency_option
@options.mechanism_option
@options.costs_option
@options.certificate_option
@click.option(
    "--over",
    type=click.Choice(["language", "all-words"]),
    default="language",
    show_default=True,
    help="Whether the true words are feasible ones or any.",
)
@options.model_options
def command(
    *,
    model: str,
    length: int,
    epsilon: str,
    adjacency: int,
    mechanism: str,
    costs: str | None,
    certificate: str | None,
    over: str,
    **reading: Any,
) -> None:
    """Print the true epsilon: enumerate all words of length N, all neighbours, all releases.

    It is the largest privacy loss that occurs, usually well below the promised one. Only languages
    of a few thousand words can be enumerated: 900 take ten seconds, 3,000 some minutes.

    \b
    dpauto audit 'regex:(a|b)*aba(a|b)*' --length 6 --epsilon 2
    """
    from dpauto.auditing import audit
    from dpauto.batch import MechanismChoice
    from dpauto.formats import SymbolTexts
    from dpauto.privacy import Privacy

    choice = MechanismChoice(
        mechanism,
        Privacy.of(epsilon=epsilon, adjacency=adjacency),
        costs=costs,
        certificate=certificate,
    )
    language = options.read(model, **reading).language(length)
    built = choice.build(language, SymbolTexts(language.alphabet, name=model))
    found = audit(built, over=over.replace("-", " "))
    click.echo(f"mechanism         {built.name}")
    click.echo(f"promised epsilon  {float(choice.privacy.epsilon):.6g}")
    click.echo(f"true epsilon      {float(found):.12g}")
    click.echo(f"proved within     {found.lower!r} to {found.upper!r}")
