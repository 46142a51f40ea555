"""Tables of docs/pages/simulation.md, between `<!-- simulated: NAME -->` and `<!-- /simulated -->`: what ./ringcraft simulate says.

    python3 docs/simulation.py --write | --check       with the tool of build/native, or the one that RINGCRAFT_TOOL names
--check looks at the rows of up to 64 ranks, with RINGCRAFT_LONG=1 at all.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import marks
from tables import table

TOOL = os.environ.get("RINGCRAFT_TOOL", str(marks.ROOT / "build/native/bin/ringcraft-attention"))
WHOLE = "--check" not in sys.argv or os.environ.get("RINGCRAFT_LONG") == "1"
RANKS = [8, 64, 256, 1024] if WHOLE else [8, 64]
TOKENS = 16384  # of a rank


def simulated(*arguments):
    """The passes of a simulation; None for what the method refuses."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([TOOL, "simulate", "--causal", "--json", str(report), *map(str, arguments)], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode == 2:
            return None
        if done.returncode != 0:
            raise SystemExit(f"simulate {arguments}: {done.stdout.decode()}{done.stderr.decode()}")
        return {one["pass"]: one for one in json.loads(marks.read(report))["passes"]}


def methods():
    """The names that --method knows."""
    text = subprocess.run([TOOL, "simulate", "--help"], check=True, stdout=subprocess.PIPE).stdout.decode()
    return re.search(r"--method M\S*(?: \[\S+\])?\s+((?:[a-z-]+,\s+)*[a-z-]+)", text)[1].replace(",", " ").split()


def time(passes, name):
    one = passes[name]
    return f"{one['seconds']:.4g} s ({100 * one['waiting_share']:.1f} %)"


def amount(count):
    return f"{count / 1e9:.3g} GB"


def figures(passes):
    back = passes["backward"]
    return [time(passes, "forward"), time(passes, "backward"), amount(passes["forward"]["bytes_sent"] + back["bytes_sent"]),
            passes["forward"]["messages_sent"] + back["messages_sent"], amount(back["peak_bytes"])]


HEAD = ["forward (waiting)", "backward (waiting)", "sent", "messages", "memory"]


def growth():
    rows = [[ranks, f"{ranks * TOKENS // 2**20} Mi" if ranks * TOKENS >= 2**20 else f"{ranks * TOKENS // 2**10} Ki", layout,
             *figures(simulated("--ranks", ranks, "--tokens", ranks * TOKENS, "--layout", layout))]
            for ranks in RANKS for layout in ["zigzag", "contiguous"]]
    return table(["ranks", "tokens", "layout", *HEAD], rows)


def by_method():
    rows = []
    for method in methods():
        for ranks in RANKS:
            passes = simulated("--method", method, "--ranks", ranks, "--tokens", 2**20)
            rows.append([method, ranks, *(figures(passes) if passes else ["refused", "", "", "", ""])])
    return table(["method", "ranks", *HEAD], rows)


def faults():
    cases = [("as it should be", []), ("--slow-link 7-8:10", ["--slow-link", "7-8:10"]),
             ("--slow-link 7-8:100", ["--slow-link", "7-8:100"]), ("--slow-link 3-20:100", ["--slow-link", "3-20:100"]),
             ("--slow-rank 3:1.2", ["--slow-rank", "3:1.2"]), ("--slow-rank 3:2", ["--slow-rank", "3:2"])]
    rows = []
    for name, flags in cases:
        passes = simulated("--ranks", 64, "--tokens", 64 * TOKENS, *flags)
        rows.append([f"`{name}`" if flags else name, time(passes, "forward"), time(passes, "backward"),
                     f"{passes['backward']['seconds'] / passes['forward']['seconds']:.2f}"])
    return table(["fault", "forward (waiting)", "backward (waiting)", "backward over forward"], rows)


def machines():
    text = marks.read(marks.ROOT / "src/ringcraft/parallel/machines.inc")
    rows = []
    for name, facts in re.findall(r'RINGCRAFT_MACHINE\("(.*?)", (.*?)\)', text):
        ranks, flops, share, alpha, beta, far_alpha, far_beta = map(float, facts.split(","))
        rows.append([f"`{name}`", int(ranks), f"{flops / 1e12:g}", f"{share:g}", f"{beta / 1e9:g}", f"{alpha * 1e6:g}", f"{far_beta / 1e9:g}",
                     f"{far_alpha * 1e6:g}"])
    return table(["machine", "ranks of a node", "peak, TFLOP/s", "share reached", "inside, GB/s", "us", "between, GB/s", "us"], rows)


BLOCKS = {"growth": growth, "methods": by_method, "faults": faults, "machines": machines}


def main():
    page = marks.ROOT / "docs/pages/simulation.md"
    old = set(marks.read(page).splitlines())
    made = {name: block() for name, block in BLOCKS.items()}
    if not WHOLE:
        print("rows of up to 64 ranks; RINGCRAFT_LONG=1 compares all")
        made = {name: None if old.issuperset(text.splitlines()) else text for name, text in made.items()}
    return marks.write_or_check({page: marks.renewed(marks.read(page), "simulated", made.__getitem__)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
