"""A job whose ranks do not start: on a terminal the tool says after two seconds how many it waits for.

usage: slow_start.py TOOL FOLDER

mpirun is stopped for four seconds as soon as it runs. The line is gone when the ranks compute, and the job ends well.
"""
import os
import pty
import re
import signal
import subprocess
import sys
import time

from mpi_faults import require, write_tensors

LIMIT = 120.0


def program_of(process):
    return os.readlink(f"/proc/{process}/exe")


def child_of(process):
    """The first process that this one has started, once it runs another program."""
    while True:
        with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
            children = file.read().split()
        if children and program_of(children[0]) != program_of(process):
            return int(children[0])
        time.sleep(0.001)


def all_of(terminal):
    said = b""
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:  # the last writer has closed its end
        pass
    return said.decode()


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    given, output = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
    write_tensors(given, 60, 1)
    terminal, end = pty.openpty()
    job = subprocess.Popen([tool, "attend", "--input", given, "--output", output, "--ranks", "3", "--backend", "mpi"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    mpirun = child_of(job.pid)
    os.kill(mpirun, signal.SIGSTOP)
    time.sleep(4)
    os.kill(mpirun, signal.SIGCONT)
    code = job.wait(timeout=LIMIT)
    said = all_of(terminal)
    require(code == 0, f"exit code {code}: {said}")
    lines = re.findall(r"\rwaiting for 3 ranks: [0-3] have started, 0 have joined: (\d+) s\x1b\[K", said)
    require(lines and lines[0] == "2" and "3" in lines, f"no line counts the ranks from two seconds on: {said!r}")
    require(said.endswith("\r\x1b[K"), f"the line stays: {said!r}")
    os.remove(output)
    print(f"{len(lines)} lines in four seconds")


if __name__ == "__main__":
    main()
