"""Files that are written, hashed and synced side by side; and the pieces of a channel that they come from."""

import errno
import hashlib
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paramiko.buffered_pipe import PipeTimeout

from pipeline.collect.pull import writing
from pipeline.collect.pull.writing import BUFFER_BYTES, Writer, hash_of, sha256_of
from pipeline.collect.ssh.pieces import Pieces


@pytest.mark.parametrize("n_bytes", [0, 1, BUFFER_BYTES, 3 * writing._BATCH_BYTES + 1, 8_000_007])
def test_files_one_after_another(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(writing, "_SYNC_BYTES", 1 << 21)
    data = os.urandom(n_bytes)
    with Writer() as writer:
        for name, size in (("a", 1 << 15), ("b", 1 << 22)):
            with (tmp_path / name).open("xb", BUFFER_BYTES) as file:
                writer.begin(file)
                for start in range(0, n_bytes, size):
                    writer.add(data[start : start + size])
                assert writer.end() == hashlib.sha256(data).hexdigest()
                assert (tmp_path / name).read_bytes() == data  # before it is closed


def test_what_was_there_is_in_the_hash(tmp_path):
    path = tmp_path / "part"
    path.write_bytes(b"the beginning, ")
    with path.open("ab", BUFFER_BYTES) as file, Writer() as writer:
        writer.begin(file, hash_of(path))
        writer.add(b"and the rest")
        digest = writer.end()
    assert digest == sha256_of(path) == hashlib.sha256(b"the beginning, and the rest").hexdigest()


@pytest.mark.parametrize("n_bytes", [1, 4 << 20])
def test_a_full_disk_is_an_error(n_bytes):
    def write():
        with open("/dev/full", "wb", BUFFER_BYTES) as file, Writer() as writer:  # noqa: PTH123
            writer.begin(file)
            writer.add(bytes(n_bytes))
            writer.end()

    with pytest.raises(OSError) as caught:
        write()
    assert caught.value.errno == errno.ENOSPC


def test_a_disk_that_fails_while_it_syncs_is_an_error(tmp_path, monkeypatch):
    """Beside the writing too: the error is not lost with the thread that met it."""
    calls = []

    def write(writer):
        for _ in range(8):
            writer.add(bytes(1 << 20))
        writer.end()

    def fail_once(_):
        calls.append(threading.current_thread())
        if len(calls) == 1:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writing, "_SYNC_BYTES", 1 << 21)
    monkeypatch.setattr(writing.os, "fsync", fail_once)
    with (tmp_path / "file").open("xb", BUFFER_BYTES) as file, Writer() as writer:
        writer.begin(file)
        with pytest.raises(OSError, match="Input/output error"):
            write(writer)
    assert calls[0] is not threading.current_thread()


@given(st.lists(st.binary(min_size=1)))
def test_pieces_come_as_they_were_fed_and_then_the_end(pieces):
    pipe = Pieces()
    for piece in pieces:
        pipe.feed(piece)
    assert len(pipe) == sum(map(len, pieces))
    pipe.close()
    assert [pipe.read(1 << 18) for _ in range(len(pieces) + 2)] == [*pieces, b"", b""]
    assert len(pipe) == 0


def test_a_reader_waits_for_pieces_but_not_for_many():
    pipe = Pieces()
    with pytest.raises(PipeTimeout):
        pipe.read(1, timeout=0.01)
    threading.Timer(0.1, pipe.feed, [b"x"]).start()
    assert pipe.read(1, timeout=30) == b"x"
    threading.Timer(0.1, pipe.close).start()
    assert pipe.read(1, timeout=30) == b""
