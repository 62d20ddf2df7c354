"""From raw benchmark logs to published figures: read, analyse, report.

``pipeline.read("fio.json").operations`` reads any known log; ``pipeline.load("2026-11-fio-depth")`` gives the tidy
tables of a campaign.
"""

from pipeline.reading import read
from pipeline.tidy import load

__all__ = ["load", "read"]
