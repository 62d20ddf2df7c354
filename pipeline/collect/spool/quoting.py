"""Quoting for Windows: arguments for programs (CommandLineToArgvW's rules), and texts for PowerShell."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.collect.work import Step

# PowerShell takes the typographic single quotes for plain ones: each would end the text.
_SINGLE_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")
_NEEDS_QUOTES = re.compile(r'[\s"&|<>^()%!;,=`]|^$')


@dataclass(frozen=True)
class WindowsStep(Step):
    """A command of a Windows host, written as Windows' programs take their arguments apart."""

    @property
    def line(self) -> str:
        """The command as a person types it at ``cmd``."""
        command = for_program(self.argv)
        return f"{command} > {for_program((self.stdout,))}" if self.stdout else command


def for_program(words: Iterable[str]) -> str:
    """One command line that a program takes apart into these words again.

    ValueError for a word with a control character: no file name has one.
    """
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    """Backslashes are plain, except before a quote, where they come in pairs; so also before the closing one."""
    if any(ord(character) < 32 or ord(character) == 127 for character in word):
        raise ValueError(f"expected a word without control characters, found {word!r}")
    if not _NEEDS_QUOTES.search(word):
        return word
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def for_powershell(text: str) -> str:
    """The text as a literal of PowerShell, in which nothing has a meaning."""
    return "'" + _SINGLE_QUOTES.sub(lambda quote: quote[0] * 2, text) + "'"


def powershell(script: str) -> str:
    """A command line that runs a script, the same for each shell that OpenSSH for Windows may start: letters only."""
    encoded = base64.b64encode(script.encode("utf-16-le")).decode("ascii")
    options = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -InputFormat None -OutputFormat Text"
    return f"powershell.exe {options} -EncodedCommand {encoded}"
