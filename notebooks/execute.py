"""Executes the notebooks, one line for each; exit code 1 if a cell of one fails. `./ringcraft notebooks --run` calls it."""
from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
import matplotlib.font_manager  # builds its cache here, rather than with a message in the first notebook  # noqa: E402, F401

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = sorted(FOLDER.glob("[0-9]_*.ipynb"))
FAILURES = (CellExecutionError, CellTimeoutError, DeadKernelError)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def execute(notebook: Any) -> Any:
    """The notebook with outputs, executed by this Python with one thread for each matrix product. Raises one of FAILURES.

    What the kernel's process prints beside its cells, as ZeroMQ may where the process ends, is told only where it dies too early.
    """
    with TemporaryDirectory() as folder:  # over TCP a kernel warns that nothing is encrypted
        client = NotebookClient(notebook, timeout=900, startup_timeout=300, kernel_name="python3",
                                resources={"metadata": {"path": str(FOLDER)}},
                                config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}))
        said = Path(folder, "stderr")
        with said.open("w") as stderr:
            try:
                client.execute(env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, stderr=stderr)
            except DeadKernelError as error:
                lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
                raise DeadKernelError(": ".join([str(error), *lines[-1:]])) from error
    return notebook


def failure(notebook: Any, error: Exception) -> str:
    """Which cell failed, and with which exception."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return f'cell "{cell.id}" fails: {output.ename}: {output.evalue}'
    return str(error).strip().split("\n")[0]


def main() -> int:
    failed = 0
    for path in NOTEBOOKS:
        notebook, said, begin = read(path), "ok", time.monotonic()
        try:
            execute(notebook)
        except FAILURES as error:
            said, failed = failure(notebook, error), failed + 1
        print(f"{path.stem:16} {time.monotonic() - begin:6.1f} s  {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
