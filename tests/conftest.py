"""Shared by all tests. With REQUIRE_ALL=1 (as .ci/run sets it) a skipped test fails."""

import os

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("REQUIRE_ALL") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped, but REQUIRE_ALL=1 requires it: {report.longrepr}"
