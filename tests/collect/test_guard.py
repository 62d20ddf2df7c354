"""guard.sh on real devices: loop devices with links by id, and files with every kind of trap around them."""

import os
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from _host import HOST

BY_ID = Path("/dev/disk/by-id")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices")
pytestmark = pytest.mark.xdist_group("loop-devices")  # another losetup, looking for a free one, opens this one's


def guard(*lines, shell=("sh",), spools=()):
    """The reasons for some lines of targets, as one text; the exit status must fit."""
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    done = subprocess.run(
        [*shell, HOST / "guard.sh", *spools], input=text.encode(), capture_output=True, check=False, timeout=60
    )
    out = done.stdout.decode()
    assert done.stderr == b""
    assert done.returncode == (1 if out else 0)
    return out


def sh(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


class Disk:
    """A loop device with a link by id; its serial is the path of its file."""

    def __init__(self, folder, n_bytes=64 << 20, *options):
        self.file = folder / f"{uuid.uuid4().hex}.img"
        with self.file.open("wb") as file:
            file.truncate(n_bytes)
        self.node = sh("losetup", "-f", "--show", *options, self.file)
        BY_ID.mkdir(parents=True, exist_ok=True)
        self.path = BY_ID / f"bench-test-{uuid.uuid4().hex}"
        self.path.symlink_to(self.node)
        self.links = [self.path]

    def part(self, number):
        link = self.path.with_name(f"{self.path.name}-part{number}")
        link.symlink_to(f"{self.node}p{number}")
        self.links.append(link)
        return link

    def reasons(self, kind="device", serial=None, path=None, shell=("sh",)):
        return guard((kind, path or self.path, self.file if serial is None else serial), shell=shell)

    def close(self):
        for link in self.links:
            link.unlink(missing_ok=True)
        subprocess.run(["losetup", "-d", self.node], check=False, capture_output=True)


@pytest.fixture
def new_disk(tmp_path):
    disks = []

    def make(*arguments):
        disks.append(Disk(tmp_path, *arguments))
        return disks[-1]

    yield make
    for disk in disks:
        disk.close()


@pytest.fixture
def mounted(tmp_path):
    """Mounts file systems, and unmounts them at the end."""
    places = []

    def mount(*arguments):
        place = tmp_path / f"mounted{len(places)}"
        place.mkdir()
        sh("mount", *arguments, place)
        places.append(place)
        return place

    yield mount
    for place in reversed(places):
        sh("umount", place)


SHELLS = [("dash",), ("bash",), ("busybox", "ash")]


@needs_root
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_free_device_is_let_through(new_disk, shell):
    if subprocess.run(["sh", "-c", f"command -v {shell[0]}"], check=False, capture_output=True).returncode:
        pytest.skip(f"needs {shell[0]}")
    disk = new_disk()
    assert guard(("device", disk.path, disk.file), ("read", disk.path, disk.file), shell=shell) == ""
    assert "expected serial or WWN x, found" in guard(("device", disk.path, "x"), shell=shell)


@needs_root
def test_every_reason_is_told_at_once(new_disk, mounted):
    disk = new_disk()
    sh("mkfs.ext4", "-q", disk.node)
    place = mounted(disk.node)
    with Path(disk.node).open("rb"):
        reasons = disk.reasons(serial="WRONG")
    assert f"expected serial or WWN WRONG, found {disk.file} at {disk.node}" in reasons
    assert f"is mounted at {place}" in reasons
    assert "signatures of ext4" in reasons
    assert f"is open in process {os.getpid()} (" in reasons
    assert "the kernel does not give" in reasons
    assert len(reasons.splitlines()) == 5


@needs_root
def test_mounts_of_other_names_and_namespaces_are_seen(new_disk, tmp_path):
    disk = new_disk()
    sh("mkfs.ext4", "-q", disk.node)
    place, bound = tmp_path / "first", tmp_path / "second"
    place.mkdir()
    bound.mkdir()
    script = f"mount {disk.node} {place} && mkdir {place}/sub && mount --bind {place}/sub {bound} && umount {place}"
    other = subprocess.Popen(["unshare", "-m", "sh", "-c", f"{script} && echo ready && exec sleep 60"],
                             stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert other.stdout.readline() == b"ready\n"
        assert "second" not in Path("/proc/self/mountinfo").read_text()
        reasons = disk.reasons()
        assert f"is mounted at {bound}" in reasons
        assert "the kernel does not give" in reasons
    finally:
        other.kill()
        other.wait()


@needs_root
def test_a_mount_through_another_node_is_seen(new_disk, mounted, tmp_path):
    disk = new_disk()
    sh("mkfs.ext4", "-q", disk.node)
    number = Path(disk.node).stat().st_rdev
    sh("mknod", tmp_path / "other", "b", str(os.major(number)), str(os.minor(number)))
    place = mounted(tmp_path / "other")
    assert f"is mounted at {place}" in disk.reasons()


@needs_root
def test_partitions(new_disk, mounted):
    disk = new_disk(128 << 20, "-P")
    parts = [word for i in range(3) for word in ("mkpart", f"part{i}", f"{1 + 32 * i}MiB", f"{33 + 32 * i}MiB")]
    sh("parted", "-s", disk.node, "mklabel", "gpt", *parts)
    for _ in range(50):
        if Path(f"{disk.node}p3").exists():
            break
        time.sleep(0.1)
    sh("mkfs.ext4", "-q", f"{disk.node}p1")
    place = mounted(f"{disk.node}p1")
    reasons = disk.reasons()
    assert "signatures of gpt" in reasons
    assert f"p1 is mounted at {place}" in reasons
    assert "p1 has signatures of ext4" in reasons
    assert "exclusively" in reasons
    assert "p1 is mounted" in disk.reasons(path=disk.part(1))
    assert disk.reasons(path=disk.part(2)) == ""  # its neighbours are none of its business
    with Path(disk.node).open("rb"):
        assert "is open in process" in disk.reasons(path=disk.part(3))


@needs_root
def test_swap(new_disk):
    disk = new_disk()
    sh("mkswap", disk.node)
    assert "signatures of swap" in disk.reasons()


@needs_root
def test_swap_in_use(new_disk, tmp_path):
    """As the kernel lists it, in a mount namespace: real swap on a loop device can hang the whole machine."""
    disk, other = new_disk(), new_disk()
    named = tmp_path / "another node"
    sh("mknod", named, "b", *map(str, (os.major(number := Path(disk.node).stat().st_rdev), os.minor(number))))
    for place in (disk.node, str(named).replace(" ", "\\040")):
        (tmp_path / "swaps").write_text(
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
            f"/none/such                              file\t\t1024\t\t0\t\t-1\n{place}    partition\t65532\t916\t-2\n"
        )
        script = f'mount --bind {tmp_path / "swaps"} /proc/swaps && exec sh "$0"'
        inside = ("unshare", "-m", "sh", "-c", script)
        assert f"is in use as swap ({place})".replace("\\040", " ") in disk.reasons(shell=inside)
        assert other.reasons(shell=inside) == ""


@needs_root
@pytest.mark.parametrize(
    ("kind", "command"),
    [("LVM2_member", ["pvcreate", "-q", "-f"]), ("xfs", ["mkfs.xfs", "-q", "-f"]), ("ext4", ["mkfs.ext4", "-q"])],
)
def test_signatures(new_disk, kind, command):
    disk = new_disk(320 << 20)
    subprocess.run([*command, disk.node], check=True, capture_output=True)
    assert f"signatures of {kind}" in disk.reasons()


@needs_root
def test_a_member_of_a_raid_is_known_by_its_superblock(new_disk):
    """mdadm's superblock of version 1.2, written by hand: the kernel here may know no RAID."""
    disk = new_disk()
    block = bytearray(256 + 2 * 128)
    block[0:8] = (0xA92B4EFC).to_bytes(4, "little") + (1).to_bytes(4, "little")
    block[16:32] = uuid.uuid4().bytes
    block[72:76] = (1).to_bytes(4, "little")  # level 1
    block[92:96] = (2).to_bytes(4, "little")  # of two disks
    block[144:152] = (8).to_bytes(8, "little")  # the superblock's own sector
    block[220:224] = (128).to_bytes(4, "little")
    total = sum(int.from_bytes(block[i : i + 4], "little") for i in range(0, len(block), 4))
    block[216:220] = ((total & 0xFFFFFFFF) + (total >> 32)).to_bytes(4, "little")
    with Path(disk.node).open("r+b") as file:
        file.seek(4096)
        file.write(block)
    assert "signatures of linux_raid_member" in disk.reasons()


@needs_root
def test_a_holder(new_disk):
    if subprocess.run(["dmsetup", "version"], check=False, capture_output=True).returncode:
        disk = new_disk()  # without device mapper: another loop device over it
        node = sh("losetup", "-f", "--show", disk.node)
        try:
            assert "is used by the kernel" in disk.reasons()
        finally:
            sh("losetup", "-d", node)
        return
    disk, name = new_disk(), f"bench-test-{uuid.uuid4().hex}"
    sh("dmsetup", "create", name, "--table", f"0 1024 linear {disk.node} 0")
    try:
        assert f"({name}): LVM, RAID, encryption or multipath uses it" in disk.reasons()
    finally:
        sh("dmsetup", "remove", name)


@needs_root
@pytest.mark.parametrize("is_hidden", [True, False])
def test_another_path_to_the_same_disk(new_disk, tmp_path, is_hidden):
    """In a mount namespace whose /sys has one more; below a multipath NVMe device the kernel hides its own."""
    disk = new_disk()
    sys, block = Path("/sys/block", Path(disk.node).name).resolve(), tmp_path / "block"
    fake = tmp_path / "sys"
    (fake / "loop").mkdir(parents=True)
    for name in ("size", "ro", "dev", "loop/backing_file"):
        (fake / name).write_text((sys / name).read_text())
    path = block / "nvme6c6n1"
    path.mkdir(parents=True)
    for place in (fake, path):
        (place / "wwid").write_text("eui.0123456789abcdef\n")
    (path / "hidden").write_text(f"{is_hidden:d}\n")
    (block / sys.name).symlink_to(sys)
    script = f'mount --bind {fake} {sys} && mount --bind {block} /sys/block && exec sh "$0"'
    inside = ("unshare", "-m", "sh", "-c", script)
    reasons = disk.reasons(shell=inside)
    assert reasons == "" if is_hidden else "is also nvme6c6n1 (same WWN)" in reasons


@needs_root
def test_read_only_and_empty(new_disk):
    assert "is read-only" in new_disk(1 << 20, "-r").reasons()
    assert new_disk(1 << 20, "-r").reasons(kind="read") == ""
    assert "has no size" in new_disk(0).reasons()


@needs_root
def test_devices_that_are_named_otherwise(new_disk, tmp_path):
    disk = new_disk()
    assert "is not named by id" in guard(("device", disk.node, disk.file))
    assert "holds a slash" in guard(("device", f"{BY_ID}/../../{disk.node[5:]}", disk.file))
    assert "does not exist" in guard(("device", f"{BY_ID}/bench-test-none", "x"))
    (tmp_path / "plain").touch()
    link = BY_ID / f"bench-test-{uuid.uuid4().hex}"
    link.symlink_to(tmp_path / "plain")
    disk.links.append(link)
    assert "does not lead to a block device" in guard(("device", link, "x"))
    assert "expected serial or WWN no serial" in guard(("device", disk.path, ""))
    assert "found no serial" in guard(("device", disk.path))


def test_a_missing_tool_is_a_reason(new_disk, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root: loop devices")
    disk = new_disk()
    script = (HOST / "guard.sh").read_text().replace("wipefs", "no-such-tool")
    (tmp_path / "guard.sh").write_text(script)
    done = subprocess.run(["sh", tmp_path / "guard.sh"], input=f"device\t{disk.path}\t{disk.file}\n", text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert "cannot be checked for signatures" in done.stdout


@needs_root
def test_only_root_sees_who_uses_a_device(new_disk, tmp_path):
    disk = new_disk()
    script = tmp_path / "guard.sh"
    script.write_text((HOST / "guard.sh").read_text().replace("has sudo", "has no-sudo"))
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", script]
    line = f"device\t{disk.path}\t{disk.file}\n"
    done = subprocess.run(command, input=line, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "only root sees who uses it" in done.stdout


# ---- files ----


@pytest.fixture
def folder(tmp_path):
    path = (tmp_path / "scratch").resolve()
    path.mkdir()
    return path


def test_a_new_file_and_an_empty_one_are_let_through(folder):
    (folder / "sub").mkdir()
    (folder / "empty").touch()
    lines = [("file", folder, "new", 1000), ("file", folder, "empty", 1000), ("file", folder, "sub/new", 0)]
    assert guard(*lines) == ""


@pytest.fixture
def note(tmp_path):
    """Writes what an agent noted of files; where the spools are."""
    spool = tmp_path / "all spools" / "a campaign"
    spool.mkdir(parents=True)

    def write(*lines):
        (spool / "made-files").write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
        return spool.parent

    return write


def identity(path):
    return sh("stat", "-c", "%i:%W:%s", path)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_only_what_an_agent_noted_is_overwritten(folder, note, shell):
    if subprocess.run(["sh", "-c", f"command -v {shell[0]}"], check=False, capture_output=True).returncode:
        pytest.skip(f"needs {shell[0]}")
    ours, theirs = folder / "ours", folder / "theirs"
    ours.write_text("laid out")
    theirs.write_text("precious data")
    lines = [("file", folder, "ours", 1000), ("file", folder, "theirs", 1000)]
    refusal = "theirs\texists, and no campaign noted that it made it"
    assert refusal in guard(*lines)
    reasons = guard(*lines, shell=shell, spools=[note((theirs, "1:1:1"), (ours, identity(ours)), (folder, "x"))])
    assert refusal in reasons and len(reasons.splitlines()) == 1
    spools = note((ours, identity(ours)))
    ours.write_text("precious data")  # the same file by its number: somebody copied theirs over it
    assert "ours\texists, and no campaign" in guard(lines[0], spools=[spools])


def test_what_is_half_made_is_known_by_its_time(folder, note):
    """The agent died while it made the file; what came later is not its."""
    half = folder / "half"
    half.write_text("x")
    now = int(half.stat().st_mtime)
    line = ("file", folder, "half", 1000)
    assert guard(line, spools=[note((half, "making", now - 5, now + 5))]) == ""
    for from_s, until_s in ((now - 9, now - 5), (now + 5, now + 9), ("x", "y"), ("", "")):
        assert "no campaign noted" in guard(line, spools=[note((half, "making", from_s, until_s))])


@needs_root
def test_what_others_noted_counts_for_nothing(folder, note):
    (folder / "theirs").write_text("precious data")
    spools = note((folder / "theirs", identity(folder / "theirs")))
    os.chown(spools / "a campaign" / "made-files", 65534, 65534)
    assert "no campaign noted" in guard(("file", folder, "theirs", 1000), spools=[spools])


def test_links_lead_nowhere(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (folder / "link").symlink_to(outside / "precious")
    (folder / "dangling").symlink_to(outside / "none")
    (folder / "sub").symlink_to(outside)
    (folder / "hard").hardlink_to(outside / "precious")
    (tmp_path / "named").symlink_to(folder)
    (folder / "inner").mkdir()
    (folder / "inner" / "sub").symlink_to(outside)
    assert "is a link" in guard(("file", folder, "link", 1))
    assert "is a link" in guard(("file", folder, "dangling", 1))
    assert "is a link" in guard(("file", folder, "sub/precious", 1))
    assert "is a link" in guard(("file", folder, "inner/sub/precious", 1))
    assert "hard links" in guard(("file", folder, "hard", 1))
    assert f"name it by its real path, {folder}" in guard(("file", tmp_path / "named", "new", 1))


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", ".", "..", "", "a//b", "a/", "a\x01b", "./a"])
def test_names_lead_nowhere(folder, name):
    assert "is not a plain path" in guard(("file", folder, name, 1))


def test_what_is_there_is_not_overwritten(folder):
    (folder / "directory").mkdir()
    os.mkfifo(folder / "pipe")
    assert "is no regular file, but a directory" in guard(("file", folder, "directory", 1))
    assert "is no regular file, but a fifo" in guard(("file", folder, "pipe", 1))
    (folder / "used").touch()
    with (folder / "used").open("rb"):
        assert f"is open in process {os.getpid()}" in guard(("file", folder, "used", 1))


@needs_root
def test_what_belongs_to_others_is_not_overwritten(folder):
    (folder / "theirs").touch()
    os.chown(folder / "theirs", 65534, 65534)
    assert "not to root" in guard(("file", folder, "theirs", 1))


def test_directories_that_are_no_place_for_files(folder):
    assert "does not exist" in guard(("file", folder / "none", "x", 1))
    for place in ("/proc", "/sys", "/dev", "/etc", "/usr"):
        assert "the directory belongs to the system" in guard(("file", place, "x", 1)), place
    assert "or is the root" in guard(("file", "/", "x", 1))
    assert "not an absolute path" in guard(("file", "relative", "x", 1))
    folder.chmod(0o777)
    assert "is writable for everybody" in guard(("file", folder, "x", 1))
    folder.chmod(0o1777)
    assert guard(("file", folder, "x", 1)) == ""


@needs_root
def test_free_space_is_asked_for_all_files_together(mounted, note):
    place = mounted("-t", "tmpfs", "-o", "size=16m,mode=700", "none")
    mib = 1 << 20
    assert guard(("file", place, "a", 10 * mib)) == ""
    reasons = guard(("file", place, "a", 10 * mib), ("file", place, "b", 10 * mib))
    assert reasons.startswith(f"{place}/b\tneeds {20 * mib} more bytes")
    (place / "a").write_bytes(bytes(10 * mib))
    spools = note((place / "a", identity(place / "a")))
    assert guard(("file", place, "a", 12 * mib), spools=[spools]) == ""  # what it has already counts as free
    assert "more bytes" in guard(("file", place, "b", 10 * mib))
    sh("mount", "-o", "remount,ro", place)
    assert "is not writable" in guard(("file", place, "b", 1))


@pytest.mark.parametrize("n_bytes", ["", "-1", "1e9", "10G", "9" * 40, "$(id)"])
def test_sizes_are_numbers(folder, n_bytes):
    assert "expected a number of bytes" in guard(("file", folder, "x", n_bytes))


def test_hostile_lines_are_shown_and_never_run(folder, tmp_path):
    canary = tmp_path / "canary"
    hostile = [f"$(touch {canary})", f"`touch {canary}`", f"x; touch {canary}", f"' ; touch {canary} ; '",
               "-rf", "\x1b[2J", "\u202e", "%s%n", "\\", "a\rb", "*"]  # fmt: skip
    for text in hostile:
        for line in (("device", f"{BY_ID}/{text}", text), ("read", text, text), ("file", folder, f"../{text}", 1),
                     ("file", f"{folder}/{text}", "x", 1), (text,), (text, "x")):  # fmt: skip
            out = guard(line)
            assert len(out.splitlines()) >= 1
            assert all(char.isascii() and (char.isprintable() or char in "\t\n") for char in out)
    assert not canary.exists()
    assert guard() == ""
    assert "is not understood" in guard(("",), ("file", "/x"))


@needs_root
def test_shellcheck_has_nothing_to_say():
    if subprocess.run(["sh", "-c", "command -v shellcheck"], check=False, capture_output=True).returncode:
        pytest.skip("needs shellcheck")
    for name in ("agent.sh", "guard.sh", "snapshot.sh"):
        done = subprocess.run(["shellcheck", "-s", "sh", HOST / name], capture_output=True, text=True, check=False)
        assert done.stdout == ""
