"""A spool's installation, as the host runs it."""

import os
import subprocess
import time

from pipeline.collect.spool import spool


def test_what_a_cut_installation_left_is_in_nobodys_way(tmp_path):
    folder = tmp_path / "spools" / "campaign"
    for name in (".new.1234", ".new.abcdef"):
        (folder / name).mkdir(parents=True)
        (folder / name / "agent.sh").write_text("half")
    hours_ago = time.time() - 2 * 3600
    os.utime(folder / ".new.1234", (hours_ago, hours_ago))
    command = ["sh", "-c", spool._INSTALL, "sh", folder.parent, folder.name]
    done = subprocess.run(command, input=spool.tar_of({"agent.sh": "whole"}), capture_output=True, check=True)
    assert done.stdout.decode() == f"{folder}\n"
    assert sorted(path.name for path in folder.iterdir()) == [".new.abcdef", "agent.sh"]  # that one may be at work
    assert (folder / "agent.sh").read_text() == "whole"
