"""Stacks of perf script, remembered as they are written: nearly all that come were seen before."""

from __future__ import annotations

from pipeline.parse.perf._perf_script_lines import frame_names, is_frame, read_head

_CACHE_BYTES = 32 << 20  # of stacks, and of frames, as they are written


class Stacks:
    """What stacks and frames read, by their text; of commands named java… (``is_java``) in another way."""

    def __init__(self, *, is_java: bool) -> None:
        self.by_text: dict[bytes, str | None] = {}
        self._names: dict[bytes, str] = {}
        self._is_java = is_java
        self._n_bytes = self._n_name_bytes = 0

    def read(self, text: bytes) -> str | None:
        """The stack that lines show, root first; LookupError when one of them is no frame."""
        if text in self.by_text:
            return self.by_text[text]
        lines = text.split(b"\n")
        try:
            names = [self._names[line] for line in reversed(lines)]
        except KeyError:
            frames = self._frames(lines)
            if frames is None:
                raise LookupError from None
            stack = self.join(frames)
        else:
            stack = ";".join([name for name in names if name]) or None
        self._n_bytes += len(text)
        if self._n_bytes > _CACHE_BYTES:
            self.by_text.clear()
            self._n_bytes = len(text)
        self.by_text[text] = stack
        return stack

    def join(self, lines: list[bytes]) -> str | None:
        """The stack of lines that are frames; None when they name nothing."""
        return ";".join([name for line in reversed(lines) if (name := self._name(line))]) or None

    def _name(self, line: bytes) -> str:
        name = self._names.get(line)
        if name is None:
            self._n_name_bytes += len(line) + 100
            if self._n_name_bytes > _CACHE_BYTES:
                self._names.clear()
                self._n_name_bytes = len(line) + 100
            name = self._names[line] = frame_names(line)[self._is_java]
        return name

    def _frames(self, lines: list[bytes]) -> list[bytes] | None:
        """The lines without source lines; None when one of them is no frame."""
        if lines[0].startswith(b"\t") and any(line.startswith(b"  ") for line in lines):
            lines = [line for line in lines if not line.startswith(b"  ")]  # -F srcline puts one below each frame
        for line in lines:
            if line in self._names:
                continue
            if not is_frame(line) or (not line.startswith(b"\t") and read_head(line) is not None):
                return None
        return lines
