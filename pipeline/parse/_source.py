"""A raw file as the readers see it: decompressed by its magic bytes, decoded by its byte order mark, in lines.

A report of bounded size is read whole (``text``, ``lines``, ``data``). What grows with time goes through ``blocks`` or
``numbered_lines``, so that memory does not grow with the log.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import zstandard

from pipeline.errors import ParseError

if TYPE_CHECKING:
    from pipeline.parse._report import Spill

HEAD_BYTES = 64 * 1024
TEXT_BYTES = 512 << 20  # the most that is read at once
LINE_BYTES = 16 << 20  # the longest line
_CHUNK = 1 << 20
_ZSTD_BYTES = 8 << 10  # so few at once: each four may stand for 128 KiB
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


class Source:
    """A raw file: its bytes, and its ``path`` as it is named in messages and tables.

    ``Source(path)`` reads a file, ``Source(path, data)`` takes bytes as they are, compressed or not. A path may also be
    of fsspec's kind (``UPath("s3://…")``); ``name`` is what messages call it. ``run_id`` and ``spill`` are set by
    ``pipeline.reading``.
    """

    def __init__(self, path: str | Path, data: bytes | None = None, name: str | None = None) -> None:
        self.file = Path(path) if isinstance(path, str) else path
        self.path = name or shown(path)
        self._data = data
        self.damage: str | None = None  # set by reading: why the compressed bytes end early
        self.ends_with_newline = True  # set by blocks() and numbered_lines(), before their last piece
        self.torn: tuple[int, str] | None = None  # set by whole_lines(), when it has ended
        self.run_id: str | None = None  # by the manifest
        self.spill: Spill | None = None
        self.saw_siblings = False

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: no content, and no open files."""
        lost = {"data", "text", "lines", "head", "_start"}
        return {name: value for name, value in self.__dict__.items() if name not in lost} | {"spill": None}

    def siblings(self) -> list[Source]:
        """The other files of the same folder, in the order of their names; none for bytes without a file."""
        self.saw_siblings = True
        if self._data is not None or not self.file.parent.is_dir():
            return []
        files = [path for path in self.file.parent.iterdir() if path.name != self.file.name and path.is_file()]
        return [Source(path) for path in sorted(files, key=lambda path: path.name) if not path.name.startswith(".")]

    def open_raw(self) -> BinaryIO:
        """Open the bytes as they are on disk."""
        return io.BytesIO(self._data) if self._data is not None else cast(BinaryIO, self.file.open("rb"))

    def _chunks(self, size: int = _CHUNK) -> Iterator[bytes]:
        """Decompressed bytes in order; what comes before damage is kept, and ``damage`` says so."""
        n_bytes = n_held = 0
        held: list[bytes] = []
        with self.open_raw() as raw:
            try:
                for part in _decompressed(raw, size):
                    held.append(part)
                    n_held += len(part)
                    if n_held >= size:
                        yield b"".join(held)
                        n_bytes, n_held, held = n_bytes + n_held, 0, []
            except (EOFError, lzma.LZMAError, zstandard.ZstdError, zlib.error, gzip.BadGzipFile) as error:
                self.damage = f"damaged compression after {n_bytes + n_held} bytes: {error}"
        if held:
            yield b"".join(held)

    def _read(self, limit: int) -> bytes:
        """Up to ``limit`` decompressed bytes."""
        parts: list[bytes] = []
        left = limit
        for part in self._chunks(min(_CHUNK, limit)):
            parts.append(part[:left])
            left -= len(part)
            if left <= 0:
                break
        return b"".join(parts)

    def blocks(self, size: int = 4 << 20) -> Iterator[bytes]:
        """The file in blocks of whole lines, each ended by a line feed; the last one lacks it where the file does.

        UTF-16 becomes UTF-8, a byte order mark goes, CRLF and CR become LF; other bytes stay as they are.
        ParseError on a line of more than 16 MiB: no log has one, and it must not fill the memory.
        """
        decoder = codecs.getincrementaldecoder(name)("replace") if (name := _wide_encoding(self._start)) else None
        rest = b""
        is_first = self.ends_with_newline = True
        for chunk in self._chunks(size):
            part = rest + (decoder.decode(chunk).encode("utf-8", "replace") if decoder else chunk)
            if is_first:
                part, is_first = part.removeprefix(codecs.BOM_UTF8), False
            held = b"\r" if part.endswith(b"\r") else b""  # it may be half of a CRLF
            part = part[: len(part) - len(held)]
            if b"\r" in part:
                part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            end = part.rfind(b"\n") + 1
            rest = part[end:] + held
            if len(rest) > LINE_BYTES:
                raise self.error(None, f"lines of at most {LINE_BYTES >> 20} MiB", "a longer one")
            if end:
                yield part[:end] if end < len(part) else part
        if decoder:
            rest += decoder.decode(b"", final=True).encode()  # half a character at a cut
        rest = rest.replace(b"\r", b"\n")
        self.ends_with_newline = not rest or rest.endswith(b"\n")
        if rest:
            yield rest

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers from 1, read as they are asked for; bytes that are no UTF-8 are Latin-1."""
        number = 0
        for block in self.blocks():
            try:
                text = block.decode("utf-8")
            except UnicodeDecodeError:
                text = block.decode("latin-1")
            lines = text.split("\n")
            if not lines[-1]:
                lines.pop()
            for line in lines:
                number += 1
                yield number, line

    def whole_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that a line feed ends; ``torn`` is then what stands behind the last of them, if anything does.

        A file may end anywhere in such a rest: a number in it may be the beginning of a longer one.
        """
        self.torn = None
        for item in self.numbered_lines():
            if self.ends_with_newline:
                yield item
            else:
                self.torn = item

    @cached_property
    def _start(self) -> bytes:
        return self._read(HEAD_BYTES)

    @cached_property
    def data(self) -> bytes:
        """The decompressed bytes; ParseError where they are more than 512 MiB."""
        data = self._read(TEXT_BYTES + 1)
        if len(data) > TEXT_BYTES:
            raise self.error(None, f"at most {TEXT_BYTES >> 20} MiB of this format", "more")
        return data

    @cached_property
    def head(self) -> str:
        """The first 64 KiB, decoded, lines ended by a line feed."""
        return _decode(self._start)

    @cached_property
    def text(self) -> str:
        """The whole file, decoded, lines ended by a line feed."""
        return _decode(self.data)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the whole file; ``lines[i]`` is line ``i + 1``. ParseError on one of more than 16 MiB."""
        lines = self.text.split("\n")
        long = next((number for number, line in enumerate(lines, 1) if len(line) > LINE_BYTES), None)
        if long is not None:
            raise self.error(long, f"lines of at most {LINE_BYTES >> 20} MiB", "a longer one")
        return lines

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes as they are on disk."""
        with self.open_raw() as raw:
            return hashlib.file_digest(cast(io.BufferedReader, raw), "sha256").hexdigest()

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


def _decompressed(raw: BinaryIO, size: int) -> Iterator[bytes]:
    """What a file holds, by its magic bytes, in pieces as they come, so that nothing before damage is lost."""
    start = raw.read(6)
    raw.seek(0)
    match next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None):
        case "gzip":
            with gzip.GzipFile(fileobj=raw) as stream:
                yield from iter(partial(stream.read1, size), b"")
        case "xz":
            with lzma.LZMAFile(raw) as stream:
                yield from iter(partial(stream.read1, size), b"")
        case "zstd":
            yield from _unzstd(raw)
        case _:  # no larger a buffer than the file: a process would take and give back its memory for each
            n_bytes = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            yield from iter(partial(raw.read, min(size, max(n_bytes, HEAD_BYTES) + 1)), b"")


def _unzstd(raw: BinaryIO) -> Iterator[bytes]:
    """Frames of zstd one after another. EOFError when the last is cut, of which zstandard's own stream says nothing."""
    frame, data = None, b""
    while data := data or raw.read(_ZSTD_BYTES):
        frame = frame or zstandard.ZstdDecompressor().decompressobj()
        if part := frame.decompress(data):
            yield part
        data = frame.unused_data if frame.eof else b""
        frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the last frame is cut")


def shown(path: str | Path) -> str:
    """A path as it is named in tables and messages: what is not UTF-8 or not printable is replaced."""
    return _printable(os.fsencode(str(path)).decode("utf-8", errors="replace"))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)


def _wide_encoding(start: bytes) -> str | None:
    """UTF-16 by its byte order mark, or because it looks so; None: an encoding of single bytes or UTF-8."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    odd = start[1:200:2]
    return "utf-16-le" if odd.count(0) > len(odd) // 2 else None  # ASCII in UTF-16LE without a mark


def _decode(data: bytes) -> str:
    """Decode by the byte order mark, else UTF-16 if it looks so, else UTF-8, else Latin-1 (which cannot fail)."""
    if encoding := _wide_encoding(data):
        text = data.decode(encoding, errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            # A head may end inside a character; anything earlier means another encoding.
            is_cut = error.start >= len(data) - 4
            text = data.decode("utf-8-sig", errors="replace") if is_cut else data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _shorten(text: str, limit: int = 120) -> str:
    """One printable line of at most ``limit`` characters: it comes from outside."""
    line = text.strip().split("\n", 1)[0]
    line = _printable(line)
    return line if len(line) <= limit else line[: limit - 1] + "…"
