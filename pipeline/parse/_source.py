"""A raw file as the readers see it: decompressed by its magic bytes, decoded by its byte order mark, in lines."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import zlib
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from pipeline.errors import ParseError

HEAD_BYTES = 64 * 1024
_CHUNK = 1 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


class Source:
    """A raw file: its bytes, and its ``path`` as it is named in messages and tables.

    ``Source(path)`` reads a file, ``Source(path, data)`` takes bytes as they are, compressed or not.
    """

    def __init__(self, path: str | Path, data: bytes | None = None) -> None:
        self._file = Path(path)
        self.path = shown(path)
        self._data = data
        self.damage: str | None = None  # set by reading: why the compressed bytes end early

    def open_raw(self) -> BinaryIO:
        """Open the bytes as they are on disk."""
        return io.BytesIO(self._data) if self._data is not None else self._file.open("rb")

    def open(self) -> BinaryIO:
        """Open the decompressed bytes as a stream, for readers that go through a file in chunks."""
        raw = self.open_raw()
        start = raw.read(6)
        raw.seek(0)
        match next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None):
            case "gzip":
                return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
            case "xz":
                return cast(BinaryIO, lzma.LZMAFile(raw))
            case "zstd":
                reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=True)
                return cast(BinaryIO, reader)
        return raw

    def _read(self, limit: int | None = None) -> bytes:
        """Read up to ``limit`` decompressed bytes; what comes before damage is kept and ``damage`` says so."""
        parts: list[bytes] = []
        left = limit if limit is not None else 1 << 62
        with self.open() as stream:
            try:
                while left > 0 and (part := stream.read(min(_CHUNK, left))):
                    parts.append(part)
                    left -= len(part)
            except (EOFError, lzma.LZMAError, zstandard.ZstdError, zlib.error, gzip.BadGzipFile) as error:
                self.damage = f"damaged compression after {sum(map(len, parts))} bytes: {error}"
        return b"".join(parts)

    @cached_property
    def data(self) -> bytes:
        """The decompressed bytes."""
        return self._read()

    @cached_property
    def head(self) -> str:
        """The first 64 KiB, decoded, lines ended by a line feed."""
        return _decode(self._read(HEAD_BYTES))

    @cached_property
    def text(self) -> str:
        """The whole file, decoded, lines ended by a line feed."""
        return _decode(self.data)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the whole file; ``lines[i]`` is line ``i + 1``."""
        return self.text.split("\n")

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes as they are on disk."""
        digest = hashlib.sha256()
        with self.open_raw() as raw:
            while part := raw.read(_CHUNK):
                digest.update(part)
        return digest.hexdigest()

    @property
    def stem(self) -> str:
        """The file's name without its last suffix, and without the suffix of its compression before that."""
        name = Path(self.path).name
        for suffix in (".zst", ".gz", ".xz"):
            name = name.removesuffix(suffix)
        return Path(name).stem or name

    def error(self, line: int | None, expected: str, got: str) -> ParseError:
        """Return the error to raise when nothing in the file can be read."""
        return ParseError(self.path, line, expected, self.damage or _shorten(got))


def shown(path: str | Path) -> str:
    """A path as it is named in tables and messages: what is not UTF-8 or not printable is replaced."""
    return _printable(os.fsencode(path).decode("utf-8", errors="replace"))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)


def _decode(data: bytes) -> str:
    """Decode by the byte order mark, else UTF-16 if it looks so, else UTF-8, else Latin-1 (which cannot fail)."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    elif data[1:200:2].count(0) > len(data[1:200:2]) // 2:  # ASCII in UTF-16LE without a mark
        text = data.decode("utf-16-le", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            # A head may end inside a character; anything earlier means another encoding.
            is_cut = error.start >= len(data) - 4
            text = data.decode("utf-8-sig", errors="replace") if is_cut else data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _shorten(text: str, limit: int = 120) -> str:
    """One printable line of at most ``limit`` characters: it comes from outside."""
    line = text.strip().split("\n", 1)[0]
    line = _printable(line)
    return line if len(line) <= limit else line[: limit - 1] + "…"
