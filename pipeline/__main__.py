"""The command line: arguments only, no logic."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import tools
from pipeline.errors import PipelineError
from pipeline.project import find_root, to_path
from pipeline.units import share

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_COMPARE = """\
Compare two sides of repeated runs: medians with intervals, Mann-Whitney tests corrected by Holm, ratios with intervals.

A side is PLACE or PLACE:PATTERN. PLACE is a campaign, or a log file or a folder of logs. PATTERN is a regular
expression that must match the whole of a run's point or of its run id. Points are matched by name; where both patterns
have groups, what they matched is the name. Where each side has exactly one point, these two are compared.

  compare 2026-11-fio-depth:randread-qd8-j1 2026-11-fio-depth:randread-qd8-j1-limited
  compare '2026-11-fio-depth:(.*)-j1' '2026-11-fio-depth:(.*)-j2'     points with and without a second job
  compare 'before/:(run).*' 'after/:(run).*'                          all logs of a folder as repeats of one point

Without --fail-above the exit status is 0 whatever was found; with it, sides with nothing in common are an error too.
Input that cannot be read or compared is 1, a wrong command line 2.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when all went well, 1 with one line on stderr otherwise."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=sys.modules["pipeline"].__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    names = ", ".join(tool.name for tool in tools.TOOLS)

    parse = commands.add_parser("parse", help="read raw logs into tidy Parquet tables")
    parse.add_argument("paths", nargs="*", type=to_path, metavar="PATH", help="log files or folders, or fsspec URLs")
    parse.add_argument("--out", type=to_path, metavar="DIR", help="folder for <table>.parquet, or an fsspec URL")
    parse.add_argument("--tool", metavar="NAME", help=f"read as this tool's output: {names}")
    parse.add_argument("--campaign", metavar="SLUG", help="read data/raw/SLUG into data/tidy/SLUG instead")
    parse.add_argument("--scheduler", metavar="ADDRESS", help="read on a dask cluster, e.g. tcp://HOST:8786")
    parse.set_defaults(run=_parse, parser=parse)

    run = _campaign_command(commands, "run", _run, "run a campaign on its hosts, or go on with what is missing")
    run.add_argument("--dry-run", action="store_true", help="only print what would run, write and take")
    run.add_argument("--script", metavar="HOST", help="only print the script to start by hand on a Windows host")
    run.add_argument("--destroy", action="append", default=[], metavar="SERIAL", help="let this device be overwritten")
    _add_connections(run)
    status = _campaign_command(commands, "status", _status, "show every host and point of a campaign")
    _add_connections(status)
    cancel = _campaign_command(commands, "cancel", _cancel, "stop a campaign on its hosts; what ran is kept")
    _add_connections(cancel)
    doctor = _campaign_command(commands, "doctor", _doctor, "look at a campaign's hosts: what would stop its run?")
    _add_connections(doctor)
    _campaign_command(commands, "pull", _pull, "fetch the raw logs that a campaign's ledger names")

    demo = commands.add_parser("demo", help="the whole way on this machine, in a temporary clone, in two minutes")
    demo.set_defaults(run=_demo)

    bring = commands.add_parser("import", help="take in logs that you already have, as a campaign")
    bring.add_argument("folder", type=Path, metavar="DIR", help="folder with the logs")
    bring.add_argument("--campaign", required=True, metavar="SLUG", help="the campaign to add them to, or a new one")
    bring.add_argument("--host", required=True, metavar="NAME", help="the machine they were measured on")
    bring.set_defaults(run=_import)

    check = commands.add_parser(
        "reconcile", help="hold every run's figures against each other; exit 1 where two contradict each other"
    )
    check.add_argument("campaigns", nargs="+", metavar="CAMPAIGN", help="its name: data/campaigns/CAMPAIGN.yaml")
    check.add_argument("--tolerance", type=float, default=0.01, metavar="SHARE", help="relative difference (0.01)")
    check.set_defaults(run=_reconcile)

    notebook = commands.add_parser("notebook", help="execute notebooks/NAME.ipynb into data/results and data/figures")
    notebook.add_argument("name", metavar="NAME")
    notebook.set_defaults(run=_notebook)

    site = commands.add_parser("site", help="publish the executed notebooks and the campaigns as data/site")
    site.set_defaults(run=_site)

    compare = commands.add_parser(
        "compare", help="compare two sides of repeated runs; with --fail-above, exit 1 on a significant regression",
        description=_COMPARE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    compare.add_argument("a", metavar="A", help="the baseline")
    compare.add_argument("b", metavar="B", help="what is held against it")
    compare.add_argument(
        "--fail-above", type=share, metavar="SHARE",
        help="exit 1 where B is worse, significantly after Holm, and by a ratio more than this from 1, e.g. 5%%",
    )  # fmt: skip
    compare.add_argument(
        "--csv", type=Path, metavar="FILE", help="write the rows, also the unmatched ones, in full digits"
    )
    compare.add_argument("--json", type=Path, metavar="FILE", help="write everything, also each run's values")
    compare.set_defaults(run=_compare)

    docs = commands.add_parser("docs", help="write data/README.md from the schema")
    docs.add_argument("--check", action="store_true", help="only say whether it is current")
    docs.set_defaults(run=_docs)
    return parser


def _campaign_command(
    commands: _Commands, name: str, function: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text)
    parser.add_argument("campaign", metavar="CAMPAIGN", help="its name: data/campaigns/CAMPAIGN.yaml")
    parser.set_defaults(run=function)
    return parser


def _add_connections(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--connections", type=int, default=16, metavar="N", help="at most so many at once (16)")


def _run(arguments: argparse.Namespace) -> int:
    from pipeline.collect.run import running

    root = find_root()
    if arguments.dry_run:
        return running.show_plan(arguments.campaign, root)
    if arguments.script:
        return running.show_script(arguments.campaign, root, arguments.script)
    return running.run(arguments.campaign, root, arguments.destroy, arguments.connections)


def _status(arguments: argparse.Namespace) -> int:
    from pipeline.collect.run import running

    return running.status(arguments.campaign, find_root(), arguments.connections)


def _cancel(arguments: argparse.Namespace) -> int:
    from pipeline.collect.run import running

    return running.cancel(arguments.campaign, find_root(), arguments.connections)


def _doctor(arguments: argparse.Namespace) -> int:
    from pipeline.collect.run import running

    return running.doctor(arguments.campaign, find_root(), arguments.connections)


def _pull(arguments: argparse.Namespace) -> int:
    from pipeline.collect.pull import pulling

    return pulling.pull(arguments.campaign, find_root())


def _demo(_: argparse.Namespace) -> int:
    from pipeline.collect import demo

    return demo.demo(find_root())


def _parse(arguments: argparse.Namespace) -> int:
    from pipeline import batch

    if arguments.campaign:
        if arguments.paths or arguments.out or arguments.tool:
            arguments.parser.error("--campaign goes alone: it knows its folders")
        return batch.parse_campaign(arguments.campaign, find_root(), arguments.scheduler)
    if not arguments.paths or not arguments.out:
        arguments.parser.error("expected PATH… and --out DIR, or --campaign SLUG")
    return batch.parse_paths(arguments.paths, arguments.out, arguments.tool, arguments.scheduler)


def _import(arguments: argparse.Namespace) -> int:
    from pipeline import importing

    return importing.import_folder(arguments.folder, arguments.campaign, arguments.host, find_root())


def _reconcile(arguments: argparse.Namespace) -> int:
    from pipeline.report import reconciling

    return reconciling.run(arguments.campaigns, find_root(), arguments.tolerance)


def _notebook(arguments: argparse.Namespace) -> int:
    from pipeline.report import notebooks

    return notebooks.execute(arguments.name, find_root())


def _site(_: argparse.Namespace) -> int:
    from pipeline.report import site

    return site.build(find_root())


def _compare(arguments: argparse.Namespace) -> int:
    from pipeline.report import comparing

    return comparing.run(arguments.a, arguments.b, arguments.fail_above, arguments.csv, arguments.json)


def _docs(arguments: argparse.Namespace) -> int:
    from pipeline.report import dictionary

    return dictionary.write(find_root(), is_check=arguments.check)


if __name__ == "__main__":
    sys.exit(main())
