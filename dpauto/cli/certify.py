"""``dpauto certify``: a proven bound that lets a mechanism err less at the same epsilon."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dpauto.cli import options
from dpauto.cli.progress import progress_of_work
from dpauto.errors import InvalidArgument, InvalidCertificate, InvalidFile
from dpauto.names import CERTIFIABLE, EXPONENTIAL

if TYPE_CHECKING:
    from dpauto.batch import ObservedModel
    from dpauto.calibration import Certificate

__all__ = ["command"]


@click.command("certify", short_help="Prove a bound that allows less error, or check one.")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--length", type=int, metavar="N", help="Length of the words.")
@click.option("--epsilon", metavar="E", help="What each trip may spend.")
@options.adjacency_option
@click.option(
    "--mechanism",
    type=click.Choice(CERTIFIABLE),
    default=EXPONENTIAL,
    show_default=True,
    help="calibrated proves both and takes the one that errs less.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the certificate goes.")
@click.option("--check", metavar="FILE", help="Prove again what this certificate says of MODEL.")
@click.option("--model", "model_named", metavar="MODEL", help="With --check: the model.")
@options.model_options
def command(
    *,
    model: str | None,
    length: int | None,
    epsilon: str | None,
    adjacency: int,
    mechanism: str,
    output: str | None,
    check: str | None,
    model_named: str | None,
    **reading: Any,
) -> None:
    """Bound how much the mechanism's normaliser can tell, and give the rest back to accuracy.

    The certificate is for MODEL, the length N, EPSILON and B; use it with dpauto release
    --certificate. It covers feasible words only: a release with it refuses others.

    \b
    dpauto certify roads.csv --length 30 --epsilon 5 -o roads.certificate
    dpauto certify --check roads.certificate --model roads.csv
    """
    if (model is None) == (model_named is None):
        raise InvalidArgument("name one MODEL")
    source = model if model is not None else str(model_named)
    options.keep_inputs(output, source)
    chosen = options.read(source, **reading)
    if check is not None:
        _check(chosen, check)
        return
    if length is None or epsilon is None or output is None:
        raise InvalidArgument("certify needs --length, --epsilon and -o (or --check)")
    from dpauto.calibration import certify

    with progress_of_work() as progress:
        certificate = certify(
            chosen.language(length),
            epsilon=epsilon,
            adjacency=adjacency,
            mechanism=mechanism,
            progress=progress,
        )
    certificate.save(output)
    _print(certificate, err=output == "-")


def _check(chosen: ObservedModel, check: str) -> None:
    from dpauto.calibration import Certificate

    try:
        certificate = Certificate.load(check)
        certificate.check(chosen.language(certificate.length))
    except (InvalidFile, InvalidCertificate) as error:
        raise type(error)(f"{check}: {error}") from None
    _print(certificate)
    click.echo("checked    it holds for this model")


def _print(certificate: Certificate, *, err: bool = False) -> None:
    """Say what is certified, on standard error where the certificate itself is the output."""
    say = partial(click.echo, err=err)
    say(f"mechanism  {certificate.mechanism}, words of length {certificate.length}")
    say(
        f"promise    epsilon {float(certificate.epsilon):.6g} for feasible words within"
        f" {certificate.adjacency}"
    )
    say(f"loss       at most {float(certificate.loss):.9g}, proved by: {certificate.method}")
    say(
        f"exponent   {float(certificate.exponent):.6g}, {certificate.gain:.3f} times that without"
        " a certificate"
    )
