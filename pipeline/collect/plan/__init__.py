"""A campaign's plan: what each host does in which order, with exact commands. Pure: nothing is asked of a host."""

from pipeline.collect.plan.attempts import attempt_id, missing, number_of, run_of
from pipeline.collect.plan.describe import describe
from pipeline.collect.plan.files import files_of
from pipeline.collect.plan.planned import HostPlan, PlannedRun
from pipeline.collect.plan.planner import make

__all__ = [
    "HostPlan", "PlannedRun", "attempt_id", "describe", "files_of", "make", "missing", "number_of", "run_of",
]  # fmt: skip
