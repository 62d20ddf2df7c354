"""The whole pipeline in a fresh copy: what it computes, that it is reproducible, and what a browser shows of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
(LOG,) = (ROOT / "tests/parse/fio_json/fio-3.36-job-start").glob("*.json")
pytestmark = pytest.mark.xdist_group("end-to-end")  # one copy, built once


def run(*command, cwd):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(cwd)}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def fresh_copy(folder):
    """The project's own files, as a clone has them, under git (DVC asks for it)."""
    names = run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    run("git", "init", "-q", cwd=folder)
    run("dvc", "repro", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    return fresh_copy(tmp_path_factory.mktemp("project"))


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def results(project, name):
    return json.loads((project / "data/results" / name / "results.json").read_bytes())


def test_the_articles_line(project):
    article = results(project, "01-linearity")["article"]
    assert article["slope"] == pytest.approx(172714.2857, abs=5e-5)
    assert article["intercept"] == pytest.approx(15000, abs=1e-6)
    assert article["r_squared"] == pytest.approx(0.99953842, abs=5e-9)
    assert article["slope_standard_error"] == pytest.approx(3711.5374, abs=5e-5)
    assert article["x_rating_per_ssd"] == [64, 59, 59]
    assert article["outcome"] == "too few points"


def test_the_own_device_sweeps(project):
    own = results(project, "01-linearity")
    assert own["fio"]["n"] == 40
    assert own["fio"]["outcome"] == "not linear"
    assert own["act"]["n"] == 20
    assert own["act"]["outcome"] == "offered load"
    held = {row["n_devices"]: (row["held_x"], row["failed_x"]) for row in own["act_highest_held"]["rows"]}
    assert held == {1: (16, 24), 2: (12, 16), 4: (4, 6)}


def test_littles_law_of_the_article_and_the_rate_limited_runs(project):
    law = results(project, "02-littles-law")
    insert, reports = law["sql_insert"], law["article_reports"]
    assert round(insert["queue_depth"], 3) == 1.000
    assert insert["is_circular"]
    assert round(insert["counted_ops_per_s"], 1) == 2607.6
    assert round(reports["fio"]["queue_depth"], 3) == 0.995
    assert round(reports["diskspd"]["queue_depth"], 3) == 0.997
    table = pd.read_csv(project / "data/results/02-littles-law/every-run.csv")
    limited = table[table["point"] == "randread-qd8-j1-limited"]
    assert len(limited) == 10
    assert set(limited["verdict"]) == {"differs"}
    assert limited["cause"].str.startswith("rate-limited:").all()
    assert limited["queue_depth"].between(0.1, 1).all()


def test_the_breakdowns(project):
    found = results(project, "03-latency-breakdown")
    article = [layer["latency_s"] * 1e6 for layer in found["article"]["layers"]]
    assert article == pytest.approx([84.7, 42.3, 94, 164], abs=1e-6)
    assert found["article"]["total_s"] == pytest.approx(385e-6)
    postgres = found["postgres"]
    for name, microseconds in (("insert", 179.9), ("wal_write", 2.3), ("wal_fdatasync", 142.0)):
        assert round(postgres["levels"][name] * 1e6, 1) == microseconds
    assert sum(layer["latency_s"] for layer in postgres["layers"]) == pytest.approx(postgres["levels"]["insert"])
    verdicts = {check["check"]: check["verdict"] for check in found["article"]["checks"]}
    assert verdicts["elapsed time / inserts = 1 / 2,597.4 inserts a second"] == "contradiction"
    assert found["article"]["residual_verdict"] == "contradiction"
    slowest = found["repeats-slowest"]["layers"]
    assert sum(layer["tail_mean_s"] for layer in slowest[1:]) == pytest.approx(slowest[0]["tail_mean_s"])
    assert "reason" in found["postgres-slowest"]


def test_nothing_to_do_the_second_time(project):
    assert "Data and pipelines are up to date." in run("dvc", "repro", cwd=project)


def test_every_campaign_has_its_data_page_with_hashes(project):
    for path in (project / "data/tidy").iterdir():
        page = (project / "data/site" / f"campaign-{path.name}.html").read_text("utf-8")
        assert "SHA-256" in page
    machine = project / "data/raw/2026-11-fio-depth/lab-kvm-machine/manifest.json"
    page = (project / "data/site/campaign-2026-11-fio-depth.html").read_text("utf-8")
    assert all(file["sha256"] in page for file in json.loads(machine.read_bytes())["files"])


OUTPUTS = ("tidy", "results", "figures", "site")


def test_stages_that_run_again_give_the_same_bytes(project):
    before = {kind: tree(project / "data" / kind) for kind in OUTPUTS}
    again = ["parse@2026-11-diskspd", "notebook@01-linearity", "notebook@06-comparison", "site"]
    run("dvc", "repro", "--force", "--single-item", *again, cwd=project)
    for kind in OUTPUTS:
        assert tree(project / "data" / kind) == before[kind], kind


def test_a_rebuild_elsewhere_is_byte_identical(project):
    """Against what ``make repro`` built in the project's own folder, as ``.ci/run`` does before the tests."""
    if "up to date" not in run("dvc", "status", cwd=ROOT):
        pytest.skip("the project's own outputs are not current: make repro")
    for kind in OUTPUTS:
        assert tree(ROOT / "data" / kind) == tree(project / "data" / kind), kind


@pytest.fixture(scope="session")
def imported(project):
    """The project after a user took in a folder of fio reports, one of them broken, and had them on the site.

    Of the notebooks only one that shows all campaigns runs again: `dvc repro` would take minutes for the others.
    """
    logs = project.parent / "my-logs"
    logs.mkdir()
    shutil.copy(LOG, logs / "<b>job<.json")
    (logs / "broken.json").write_bytes(LOG.read_bytes()[:300])
    run(sys.executable, "-m", "pipeline", "import", str(logs), "--campaign", "my-disks", "--host", "db1", cwd=project)
    run("dvc", "repro", "--single-item", "parse@my-disks", "notebook@02-littles-law", "site", cwd=project)
    return project


def test_imported_logs_appear_without_touching_code(imported):
    table = (imported / "data/results/02-littles-law/every-run.csv").read_text("utf-8")
    assert "my-disks,db1,db1-fio-b-job-r1,fio" in table
    page = (imported / "data/site/campaign-my-disks.html").read_text("utf-8")
    assert "db1-fio-b-job-r1" in page
    assert "broken.json" in page
    assert '<strong class="bad">failed</strong>' in page
    assert "campaign-my-disks.html" in (imported / "data/site/index.html").read_text("utf-8")


def test_every_page_shows_its_figures_offline(imported):
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    site = imported / "data/site"
    pages = sorted(site.glob("*.html"))
    n_notebooks, n_campaigns = len(list(ROOT.glob("notebooks/*.ipynb"))), len(list((imported / "data/tidy").iterdir()))
    assert len(pages) == 1 + 1 + n_notebooks + n_campaigns  # with the index and the licences
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        for path in pages:
            check_page(context, path)
        browser.close()


def check_page(context, path):
    page = context.new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(f"failed: {request.url}"))
    page.on("request", lambda request: problems.append(request.url) if not allowed(request.url) else None)
    page.goto(path.as_uri(), wait_until="load")
    figures = page.locator(".figure").count()
    if path.name == "index.html" or path.name[:2].isdigit():
        assert figures >= 1, path.name
        page.wait_for_function("n => document.querySelectorAll('.figure .main-svg').length >= n", arg=figures)
    if path.name[:2].isdigit():
        page.wait_for_function("window.MathJax && MathJax.Hub && MathJax.Hub.queue.pending === 0")
        assert page.locator(".MathJax_Error, merror").count() == 0
    assert page.locator("main h1").count() == 1
    assert problems == [], path.name
    page.close()


def allowed(url):
    return url.startswith(("file:", "data:", "blob:"))
