"""``dpauto draw``: models, and the automaton of words at a distance."""

from __future__ import annotations

from typing import Any

import click

from dpauto.cli import options
from dpauto.errors import DrawingTooLarge, InvalidArgument

__all__ = ["command"]


@click.command("draw", short_help="Draw a model, or the words at a distance from a word.")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--model", "model_named", metavar="MODEL", help="With --word: what is feasible.")
@click.option("--word", metavar="WORD", help='A word, such as "a b c"; the drawing shows it.')
@click.option("--errors", type=int, metavar="L", help="With --word: how many symbols are wrong.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help=".svg, .png or .pdf (need Graphviz), or .dot.",
)
@click.option("--whole", is_flag=True, help="Draw it however large it is.")
@options.reading_options
@options.model_options
def command(
    *,
    model: str | None,
    model_named: str | None,
    word: str | None,
    errors: int | None,
    output: str,
    whole: bool,
    **reading: Any,
) -> None:
    """Draw MODEL, or with --word the automaton of all words with exactly L wrong symbols.

    Without a model every word over the word's own symbols (and --alphabet) is feasible.

    \b
    dpauto draw roads.csv -o roads.svg
    dpauto draw --word "a b b a" --errors 2 -o mnfa.svg
    """
    from dpauto.drawing import diagram
    from dpauto.formats.wordsets import EveryWord, WordList

    if model is not None and model_named is not None:
        raise InvalidArgument("MODEL is given twice")
    source = model if model is not None else model_named
    options.keep_inputs(output, source)
    if word is None:
        if errors is not None:
            raise InvalidArgument("--errors goes with --word")
        if source is None:
            raise InvalidArgument("there is nothing to draw: name a MODEL or a --word")
        drawn: Any = options.read(source, **reading).model
        if isinstance(drawn, EveryWord | WordList):
            raise InvalidArgument(f"{source} has no states to draw; draw a --word of it")
    else:
        if errors is None:
            raise InvalidArgument("--word needs --errors, the number of wrong symbols")
        drawn = _product(word, errors, source, reading)
    try:
        picture = diagram(drawn, limit=None if whole else "readable")
    except DrawingTooLarge as error:
        raise DrawingTooLarge(str(error).replace("limit=None", "--whole")) from None
    picture.render(output)


def _product(word: str, errors: int, source: str | None, reading: dict[str, Any]) -> Any:
    from dpauto.formats.symbols import SymbolTexts
    from dpauto.formats.trips import Separator
    from dpauto.hamming import mnfa
    from dpauto.language import Language

    texts = Separator(reading["separator"]).split(word)
    if not texts:
        raise InvalidArgument("--word must have at least one symbol")
    if source is None:
        more = options.symbols(reading["alphabet"]) or []
        return mnfa(texts, errors, Language.all_words(dict.fromkeys([*texts, *more]), len(texts)))
    language = options.read(source, **reading).language(len(texts))
    return mnfa(SymbolTexts(language.alphabet, name=source).parse(texts), errors, language)
