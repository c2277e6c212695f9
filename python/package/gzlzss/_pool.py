"""Pools: the threads and GPUs that compress and decompress.

A pool has a crew of libgzlzss for each format and level that is used. A crew's threads start when
there is work for them, so a process that uses one level has one set of threads, however many files
are open.
"""
from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Dict, Optional, Sequence, Tuple

from . import _core

GZIP, ZLIB, RAW, BGZF = 0, 1, 2, 3
DEFAULT_LEVEL = 6

_BACKENDS = {"auto": 0, "cpu": 1, "gpu": 2}
_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


class Pool:
    """Threads and GPUs of one's own.

    threads: at most so many threads, or all cores with 0 or less. block_size: bytes of a segment,
    which threads compress side by side; 0 is 2 MiB. backend: "auto", "cpu" or "gpu". devices: the
    numbers of the GPUs that may be used. verify: decode what was compressed, and compare. bgzf:
    write BGZF. rsyncable: let the content decide where segments end. matcher: a paper's method to
    find matches.

    After fork(), the child's pools make their threads anew. A pool can be pickled; the copy has
    threads of its own.
    """

    def __init__(self, threads: int = 0, *, block_size: int = 0, backend: str = "auto",
                 devices: Optional[Sequence[int]] = None, verify: bool = False, bgzf: bool = False,
                 rsyncable: bool = False, matcher: Optional[str] = None) -> None:
        if backend not in _BACKENDS:
            raise ValueError(f"backend is 'auto', 'cpu' or 'gpu', not {backend!r}")
        if block_size < 0:
            raise ValueError("block_size is negative")
        self._options: Dict[str, Any] = {
            "threads": max(threads, 0), "block_size": block_size, "backend": backend,
            "devices": devices, "verify": verify, "bgzf": bgzf, "rsyncable": rsyncable,
            "matcher": matcher}
        self._start()
        _pools.add(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._crews: Dict[Tuple[int, int], _core.Crew] = {}

    def __reduce__(self) -> Tuple[Any, ...]:
        return _unpickle, (self._options,)

    def crew(self, format: int = GZIP, level: int = DEFAULT_LEVEL) -> _core.Crew:
        """Returns the crew for a format and a level, and makes it if there is none yet."""
        found = self._crews.get((format, level))
        if found is not None:
            return found
        o = self._options
        with self._lock:
            if (format, level) not in self._crews:
                self._crews[format, level] = _core.Crew(
                    format=BGZF if o["bgzf"] and format == GZIP else format, level=level,
                    threads=o["threads"], backend=_BACKENDS[o["backend"]],
                    segment_size=o["block_size"], rsyncable=o["rsyncable"], devices=o["devices"],
                    matcher=o["matcher"], verify=o["verify"])
            return self._crews[format, level]

    def no_gpu(self) -> str:
        """Returns the reason why no GPU works, or an empty string if none is known.

        A GPU is looked for when there is enough work for it.
        """
        reasons = [crew.no_gpu() for crew in list(self._crews.values())]
        return next((reason for reason in reasons if reason), "")

    def cancel(self) -> None:
        """Ends all calls under way, in any thread, with CancelledError."""
        for crew in list(self._crews.values()):
            crew.cancel()

    def close(self) -> None:
        """Lets the threads go. Open files keep theirs until they are closed."""
        self._start()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gzlzss.Pool threads={self._options['threads'] or 'all'}>"


def _unpickle(options: Dict[str, Any]) -> Pool:
    return Pool(**options)


default = Pool()
_others: Dict[Tuple[int, int], Pool] = {}


def get(pool: Optional[Pool], threads: int, block_size: int) -> Pool:
    """Returns the given pool, or the one that all callers with these numbers share."""
    if pool is not None:
        if threads > 0 or block_size != 0:
            raise ValueError("a pool has its own threads and block_size")
        return pool
    if threads <= 0 and block_size == 0:
        return default
    key = (max(threads, 0), block_size)
    if key not in _others:
        _others.setdefault(key, Pool(key[0], block_size=block_size))
    return _others[key]


def _after_fork() -> None:
    # The thread that has called fork() is the child's only one.
    _core.set_main_thread(threading.get_ident())
    for pool in list(_pools):
        pool._start()


_core.set_main_thread(threading.main_thread().ident or 0)
os.register_at_fork(after_in_child=_after_fork)

