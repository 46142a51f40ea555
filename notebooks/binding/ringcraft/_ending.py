"""os._exit within a function that is judged: a program that it ended would look like one in which all went well."""
from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

_lock = threading.Lock()
_judging: list[tuple[int, int]] = []      # process and thread of each judgement in progress
_ends: list[Callable[[int], Any]] = []    # os._exit as it was before


def _ended(status: int) -> None:
    if (os.getpid(), threading.get_ident()) in _judging:
        raise SystemExit(f"os._exit({status})")
    _ends[0](status)  # another thread, or a process that the function has forked


@contextlib.contextmanager
def kept_running() -> Iterator[None]:
    """os._exit raises SystemExit on this thread of this process, and nowhere else."""
    own = (os.getpid(), threading.get_ident())
    with _lock:
        if not _judging:
            _ends[:] = [os._exit]
            setattr(os, "_exit", _ended)
        _judging.append(own)
    try:
        yield
    finally:
        with _lock:
            _judging.remove(own)
            if not _judging:
                setattr(os, "_exit", _ends[0])
