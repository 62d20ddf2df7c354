"""Private to fio's readers: which of its engines are synchronous."""

from __future__ import annotations

# Engines that return from each I/O before they start the next, whatever iodepth says (FIO_SYNCIO in fio's engines).
SYNCHRONOUS = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "falloc", "ftruncate", "e4defrag", "net",
     "netsplice", "cpu", "cpuio", "exec", "http", "mtd", "dev-dax", "libpmem", "libhdfs", "libzbc", "libcufile",
     "libhipfile", "libiscsi", "gfapi", "ime_psync", "ime_psyncv", "page_fault", "filecreate", "filestat", "filedelete",
     "dircreate", "dirstat", "dirdelete")
)  # fmt: skip
