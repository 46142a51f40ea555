"""Runs the commands of the README and writes what they print between `<!-- output: NAME -->` and `<!-- /output -->`.

Figures in the README are therefore figures that a program has printed; the processor is named beside them.
    python3 docs/outputs.py [NAME ...]      names as in COMMANDS; without names, all
A command that fails changes nothing.
"""
import argparse
import os
import pathlib
import platform
import re
import subprocess
import sys

import marks

COMMANDS = {
    "run": ["./ringcraft", "run"],
    "bench": ["./ringcraft", "bench"],
    "claims": ["env", "RINGCRAFT_LONG=1", "build/native/bin/test_verify", "[claims]"],
    "foreign": ["env", "RINGCRAFT_LONG=1", "tests/foreign/foreign.sh", "python3", "build/foreign-venv",
                "build/native/bin/ringcraft-tool", "torch-ring", "ring-flash-attn", "ring-attention-pytorch",
                "ring-attention-pytorch-buckets", "torch"],
    "two_hosts": ["python3", "tests/tool/jobs/two_hosts.py", "build/native/bin/ringcraft-attention", "/usr/bin/mpirun",
                  "build/two_hosts"],
    "simulate": ["./ringcraft", "simulate", "--ranks", "16", "--causal", "--method", "hybrid", "--ulysses", "8"],
    "doctor": ["./ringcraft", "doctor"],
    "grade": ["./ringcraft", "grade", "build/class", "--out", "build/grades"],  # the class of docs/pages/grading.md
    "grades": ["ls", "build/grades"],
    "explain": ["./ringcraft", "grade", "build/class", "--out", "build/grades", "--explain", "ukasz-zoc-5:303.layouts"],
    "first_ring": ["build/native/bin/first_ring"],
    "check_my_ring": ["build/python-venv/bin/python", "docs/examples/check_my_ring.py"],
    "ring_module": ["build/python-venv/bin/python", "-m", "torch.distributed.run", "--nproc-per-node", "4",
                    "docs/examples/ring_module.py"],
}


def processor():
    """The processor's own name for itself, and how many of them this program may use."""
    name = platform.processor() or platform.machine()
    for line in marks.read(pathlib.Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{re.sub(' +', ' ', name)}, {count} core{'s' if count != 1 else ''}"


def plain(text):
    """The text that remains on the screen: no colours, no overwritten progress, no absolute paths."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n").replace(str(marks.ROOT), ".")


def block(name):
    command = COMMANDS[name]
    done = subprocess.run(command, cwd=marks.ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: expected exit code 0, got {done.returncode}; nothing is written")
    lines = plain(done.stdout.decode("utf-8")).split("\n")
    return f"On {processor()}:\n\n```text\n$ {' '.join(command)}\n" + "\n".join(lines) + "\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMMANDS))
    wanted = parser.parse_args().names or list(COMMANDS)
    for name in wanted:
        if name not in COMMANDS:
            parser.error(f"{name}: expected one of {', '.join(COMMANDS)}")
    blocks = {name: block(name) for name in wanted}
    for page in marks.pages():
        text = marks.read(page)
        new = text
        for name, content in blocks.items():
            mark, end = f"<!-- output: {name} -->\n", "<!-- /output -->"
            if mark in new:
                before, rest = new.split(mark, 1)
                new = before + mark + content + end + rest.split(end, 1)[1]
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(marks.ROOT)}: renewed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
