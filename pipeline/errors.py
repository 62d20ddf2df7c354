"""Errors that tell what was expected, what was found, where, and what to do."""

from __future__ import annotations


def printable(text: str, limit: int = 400) -> str:
    """What a host said, on one line, bounded, without what a terminal would obey."""
    cut = text if len(text) <= limit else f"{text[:limit]}…"
    return "".join(character if character.isprintable() else "�" for character in cut)


class PipelineError(Exception):
    """Anything that a user can put right; the command line prints it without a traceback and exits with 1."""


class ParseError(PipelineError):
    """A file in which nothing can be read: ``path:line: expected …, found …``."""

    def __init__(self, path: str, line: int | None, expected: str, got: str) -> None:
        self.path, self.line, self.expected, self.got = path, line, expected, got
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: expected {expected}, found {got}")

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, int | None, str, str]]:
        return type(self), (self.path, self.line, self.expected, self.got)


class UnknownFormatError(ParseError):
    """A file that no reader recognises."""


class SpecError(PipelineError):
    """A campaign, a manifest or a parameter that does not hold what it must."""


class SchemaError(PipelineError):
    """A table that breaks the contract of ``pipeline/schema.py``."""


class AnalysisError(PipelineError):
    """Data that cannot support the analysis that was asked for."""


class CollectError(PipelineError):
    """A host, or what came from one, is not as it must be."""


class UnreachableError(CollectError):
    """A host does not answer, or its connection broke; worth another try."""
