"""Opening files to read: gzip where the name says so, "-" for standard input."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from dpauto.errors import InvalidFile

__all__ = ["open_bytes", "open_text", "read_bytes", "suffix_of"]


def suffix_of(name: str) -> str:
    """Return the suffix of a file name in lower case, looking through ``.gz``.

    Examples
    --------
    >>> suffix_of("data/Edges.CSV.gz"), suffix_of("roads")
    ('.csv', '')
    """
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


@contextmanager
def open_bytes(name: str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, "-" being standard input.

    Raises
    ------
    InvalidFile
        If a gzip file is damaged, also later while it is read.
    OSError
        If the file cannot be opened.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file", name)
    try:
        with open(name, "rb") as raw:
            if name.lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InvalidFile(f"{name}: not a whole gzip file, though its name ends in .gz") from None


@contextmanager
def open_text(name: str) -> Iterator[IO[str]]:
    """Open a file for reading UTF-8 text (a byte order mark is skipped), line ends untouched.

    Raises
    ------
    InvalidFile
        If the file is not UTF-8 or a damaged gzip file, also later while it is read.
    OSError
        If the file cannot be opened.
    """
    with open_bytes(name) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            yield text
        except UnicodeDecodeError:
            raise InvalidFile(f"{name}: not UTF-8 text") from None
        finally:
            # Standard input stays open, and the file itself is closed by whoever opened it.
            with suppress(ValueError):
                text.detach()


def read_bytes(name: str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InvalidFile
        If it is empty.
    """
    with open_bytes(name) as raw:
        content = raw.read()
    if not content.strip():
        raise InvalidFile(f"{name}: the file is empty")
    return content
