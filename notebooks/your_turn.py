"""Says whether a cell that a notebook left to its reader is right."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def close(found: Any, wanted: Any, error: float = 1e-6) -> bool:
    """Whether two numbers or arrays agree: same shape, no NaN, infinities in the same places."""
    if found is ...:
        return False
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=error, atol=error)


def check(question: Callable[[], Any], right: str, not_yet: str) -> None:
    """Prints one sentence: `right` if the question returns True, otherwise `not_yet`, and the exception if there was one."""
    raised = ""
    try:
        with np.errstate(all="ignore"):
            if bool(question()):
                print(f"right: {right}")
                return
    except Exception as error:
        if "ellipsis" not in str(error):  # it is not filled in
            raised = f" ({type(error).__name__}: {error})"
    print(f"not yet: {not_yet}{raised}")
