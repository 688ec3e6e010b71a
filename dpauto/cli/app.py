"""The `dpauto` command: its subcommands, and one line for whatever goes wrong."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import click

from dpauto import __version__
from dpauto.errors import DpautoError, NotPrivateWarning

__all__ = ["commands", "main"]

INTERNAL = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
#: Added to the number of the signal that ended a command.
SIGNALLED = 128

#: What else ends a command that runs: kill, a scheduler's time limit, a closed terminal.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: Subcommand to the module that holds it; only the one that runs is imported.
_COMMANDS = ("release", "show", "error", "draw", "certify", "audit", "demo")


class _Ended(BaseException):
    """A signal came that ends the command; files and processes are left in order."""


class _Commands(click.Group):
    """Imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"dpauto.cli.{cmd_name}")
        command: click.Command = module.command
        return command


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="dpauto", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Publish trajectories of symbols under word-level differential privacy.

    MODEL, the public description of what is feasible, is a file (GraphML, JSON, CSV edge list or
    matrix, DOT, PRISM, DRN, XES, npy/npz; its suffix tells, --format overrides, .gz is
    transparent), or regex:PATTERN, or all:abc (every word). TRIPS is text (a word a line), CSV,
    TSV, Parquet, Arrow or XES. "-" is standard input or output.

    Exit status: 0 done, 2 bad usage or input.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        0 done; 2 bad usage or input, told in one line on standard error; 130 interrupted; 143
        terminated; 1 an error of dpauto's own.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter gets an escape instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if "_DPAUTO_COMPLETE" in os.environ:
        # A shell asks for completions.
        commands.main(prog_name="dpauto")
    given = sys.argv[1:] if arguments is None else arguments
    try:
        # click's own main has answers of its own to interrupts and broken pipes.
        with (
            _signals_unwind(),
            _warnings_last(),
            commands.make_context("dpauto", list(given)) as context,
        ):
            commands.invoke(context)
            sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        return _fail(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except _Ended as end:
        return SIGNALLED + int(end.args[0])
    except BrokenPipeError:
        # Whoever read the output has what they wanted. Nothing more can be flushed there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{place}{error.strerror or error}")
    except MemoryError:
        return _fail("not enough memory for this model and these trips")
    except (DpautoError, ImportError) as error:
        return _fail(str(error))
    except Exception as error:  # noqa: BLE001 - a traceback's last line may hold a sensitive symbol
        return _bug(error)
    return 0


def _usage(error: click.ClickException) -> str:
    message = error.format_message()
    if "unexpected extra argument" in message:
        # click repeats them; they are often the rest of a word that was not quoted.
        return "unexpected arguments; quote what belongs together, as in --word 'a b c'"
    return message


def _bug(error: Exception) -> int:
    """Say where an error of our own happened and not what it says, unless that is asked for."""
    if os.environ.get("DPAUTO_TRACEBACK"):
        raise error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} in {os.path.basename(frame.filename)}, line {frame.lineno}"
    _fail(f"internal error: {place}; please report it (DPAUTO_TRACEBACK=1 shows all of it)")
    return INTERNAL


def _fail(message: str) -> int:
    print(f"dpauto: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT


@contextmanager
def _signals_unwind() -> Iterator[None]:
    """Let the signals that end a process unwind it first, so that no half file stays behind."""
    process = os.getpid()

    def end(number: int, _: FrameType | None) -> None:
        # A second one ends the process as it is.
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != process:
            os.kill(os.getpid(), number)
        raise _Ended(number)

    # Somebody who calls main, or nohup, may have settled it; only a main thread can.
    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _warnings_last() -> Iterator[None]:
    """Show each warning once, in a line, when all went well: a failure is told in one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        # --seed says so itself, in the words of the command line.
        warnings.simplefilter("ignore", NotPrivateWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        yield
        lines = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    for line in lines:
        print(f"dpauto: warning: {line}", file=sys.stderr)
