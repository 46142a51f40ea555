"""Tables of docs/pages/methods.md, between `<!-- methods: NAME -->` and `<!-- /methods -->`: what ./ringcraft simulate says of every
method, and the closed forms that its figures are compared with.

    python3 docs/methods.py --write | --check       with the tool of build/native, or the one that RINGCRAFT_TOOL names
--check leaves out the table of up to 1024 ranks, unless RINGCRAFT_LONG=1.
"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

import marks
from simulation import TOOL, WHOLE, amount, simulated, time
from tables import table

PROBLEM = {"ranks": 16, "tokens": 131072, "heads": 32, "kv_heads": 8, "head_dim": 128}
NODE = 8  # ranks of a node of 8xH100, and of a row
SLICES = PROBLEM["kv_heads"]  # of an all-gather by heads
RANKS, TOKENS = [8, 64, 1024], 2048  # of the growth; tokens of a rank

# Of each method: its flags, and what a rank sends, in how many messages, and holds at the most, forward and then backward.
METHODS = {
    "ring": ([], ("(N-1) * B * e", "2 * (N-1)", "(Q + 3 * B) * e + (Q + 2 * L) * a"),
             ("(N-1) * B * (e + a)", "4 * (N-1)", "(2 * Q + 3 * B) * e + (2 * Q + 2 * L + 3 * B) * a")),
    "ring, schedule forward": (
        ["--schedule", "forward"], ("(N-1) * B * e", "2 * (N-1)", "(Q + 3 * B) * e + (Q + 2 * L) * a"),
        ("(N-1) * B * e + N * B * a", "4 * N - 2", "(2 * Q + 3 * B) * e + (2 * Q + 2 * L + 3 * B) * a")),
    "all-gather": (
        ["--method", "all-gather"], ("(N-1) * B * e", "2 * (N-1)", "(Q + N * B) * e + (Q + 2 * L) * a"),
        ("(N-1) * B * (e + a)", "4 * (N-1)", "(2 * Q + (N-1) * B) * e + (2 * Q + 2 * L + 4 * B) * a")),
    "all-gather, one KV head at a time": (
        ["--method", "all-gather", "--gather-heads", 1],
        ("(N-1) * B * e", "2 * (N-1) * s", "(Q + B + (Q + (N+1) * B) / s) * e + (Q + L + (Q + 2 * L) / s) * a"),
        ("(N-1) * B * (e + a)", "4 * (N-1) * s",
         "(2 * Q + B + (2 * Q + (N+1) * B) / s) * e + (2 * Q + L + B + (2 * Q + 2 * L + 4 * B) / s) * a")),
    "Ulysses, U = N": (
        ["--method", "ulysses"],
        ("(U-1) / U * ((Q + D) * e + (Q + L) * a)", "5 * (U-1)", "(Q + D) * e + (2 + 2 / U) * (Q + L) * a"),
        ("(U-1) / U * (Q * e + (Q + D) * a)", "4 * (U-1)", "(2 * Q + D) * e + (4 * Q + 2 * L + D + 2 * Q / U) * a")),
    "hybrid": (
        ["--method", "hybrid", "--ulysses", NODE],
        ("(U-1) / U * ((Q + D) * e + (Q + L) * a) + (G-1) * D * e", "5 * (U-1) + 2 * (G-1)",
         "(Q + D) * e + (2 + 2 / U) * (Q + L) * a"),
        ("(U-1) / U * (Q * e + (Q + D) * a) + (G-1) * D * (e + a)", "4 * (U-1) + 4 * (G-1)",
         "(3 * Q + G * D) * e + (3 * Q + 3 * L + 3 * D) * a")),
    "double ring": (
        ["--method", "double-ring", "--node", NODE],
        ("(N-1) * B * e", "2 * (N-1)", "(Q + (G+2) * B) * e + (Q + 2 * L) * a"),
        ("(N-1) * B * e + (N + G) * B * a", "4 * N - 2 + 2 * G", "(2 * Q + (G+2) * B) * e + (2 * Q + 2 * L + 7 * B) * a")),
}


def sizes(name):
    """The letters of the closed forms."""
    rows = PROBLEM["tokens"] // PROBLEM["ranks"] * PROBLEM["head_dim"]  # numbers of a head on a rank
    row = PROBLEM["ranks"] if name.startswith("Ulysses") else NODE
    return {"N": PROBLEM["ranks"], "U": row, "G": PROBLEM["ranks"] // row, "s": SLICES, "e": 2, "a": 4,
            "Q": PROBLEM["heads"] * rows, "B": 2 * PROBLEM["kv_heads"] * rows, "D": 2 * max(PROBLEM["kv_heads"], row) * rows,
            "L": PROBLEM["heads"] * rows // PROBLEM["head_dim"]}


def flags(problem):
    return [word for name, value in problem.items() for word in ("--" + name.replace("_", "-"), value)]


@functools.cache
def measured(name):
    """The passes of a method; an error if they are not those of its closed forms."""
    own, *forms = METHODS[name]
    passes = simulated(*flags(PROBLEM), *own)
    peak = 0
    for one, (sent, messages, held) in zip((passes["forward"], passes["backward"]), forms):
        want = [eval(form, {}, sizes(name)) for form in (sent, messages, held)]
        peak = want[2] = max(peak, want[2])
        got = [one["bytes_sent"], one["messages_sent"], one["peak_bytes"]]
        if got != want:
            raise SystemExit(f"{name}, {one['pass']}: bytes, messages and peak are {got}, by the closed forms {want}")
    return passes


def costs(which):
    rows = []
    for name in METHODS:
        one = measured(name)[which]
        rows.append([name, amount(one["bytes_sent"]), one["messages_sent"], amount(one["peak_bytes"]), f"{1e3 * one['seconds']:.1f} ms",
                     f"{1e3 * one['seconds'] * one['waiting_share']:.2f} ms"])
    return table(["method", "sent", "messages", "peak", "time", "exposed"], rows)


def typeset(form):
    return "$`" + form.replace(" / ", "/").replace(" * ", r"\,").replace("D", "B_U") + "`$"


def forms(which):
    rows = [[name, *map(typeset, (forward, backward)[which == "backward"])] for name, (_, forward, backward) in METHODS.items()]
    return table(["method", "sent", "messages", "peak"], rows)


FLOAT32 = {"name": "float32", "ranks_per_node": 8, "peak_flops": 1e15, "efficiency": 0.5, "element_bytes": 4, "accumulator_bytes": 4,
           "inside": {"latency": 1e-6, "bandwidth": 1e11}, "between": {"latency": 1e-6, "bandwidth": 1e11}}


def ratio():
    """Forward passes with equal heads and numbers of equal width."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder, "machine.json")
        machine.write_text(json.dumps(FLOAT32), encoding="utf-8")
        for ranks in (2, 4, 8, 16, 32):
            problem = PROBLEM | {"ranks": ranks, "kv_heads": PROBLEM["heads"], "machine": machine}
            ring, ulysses = (simulated(*flags(problem), "--method", method)["forward"]["bytes_sent"] for method in ("ring", "ulysses"))
            lse = 4 * PROBLEM["heads"] * PROBLEM["tokens"] // ranks * (ranks - 1) // ranks
            rows.append([ranks, amount(ring), amount(ulysses), amount(lse), f"{ring / (ulysses - lse):g}"])
    return table(["ranks", "ring", "Ulysses", "of it lse", "ring over the rest"], rows)


GROWTH = {"ring, zig-zag": [], "ring, contiguous": ["--layout", "contiguous"], "all-gather": ["--method", "all-gather"],
          "hybrid, rows of 8": ["--method", "hybrid", "--ulysses", NODE], "double ring, nodes of 8": ["--method", "double-ring", "--node", NODE]}


def growth():
    rows = []
    for name, own in GROWTH.items():
        passes = [simulated("--ranks", ranks, "--tokens", ranks * TOKENS, *own) for ranks in RANKS]
        for which in ("forward", "backward"):
            rows.append([name if which == "forward" else "", which, *(time(one, which) for one in passes),
                         *(amount(passes[i][which]["peak_bytes"]) for i in (0, -1))])
    return table(["method", "pass", *(f"{ranks} ranks" for ranks in RANKS), f"peak, {RANKS[0]}", f"peak, {RANKS[-1]}"], rows)


REFUSED = [["--method", "all-gather", "--gather-heads", 3], ["--method", "ulysses", "--ranks", 64],
           ["--method", "ulysses", "--ranks", 12, "--heads", 24, "--kv-heads", 8], ["--method", "hybrid", "--ranks", 16],
           ["--method", "hybrid", "--ranks", 16, "--ulysses", 3], ["--method", "hybrid", "--ranks", 12, "--ulysses", 3],
           ["--method", "double-ring", "--ranks", 16, "--node", 3], ["--method", "double-ring", "--schedule", "forward"],
           ["--method", "ring", "--node", 8]]


def refused():
    rows = []
    for case in REFUSED:
        done = subprocess.run([TOOL, "simulate", *map(str, case)], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 2:
            raise SystemExit(f"simulate {case}: expected a refusal, got exit code {done.returncode}")
        rows.append([f"`{' '.join(map(str, case))}`", done.stderr.decode().strip().removeprefix("ringcraft: ")])
    return table(["flags", "the answer"], rows)


BLOCKS = {"forward": lambda: costs("forward"), "backward": lambda: costs("backward"), "forward forms": lambda: forms("forward"),
          "backward forms": lambda: forms("backward"), "ratio": ratio, "growth": growth, "refused": refused}


def main():
    page = marks.ROOT / "docs/pages/methods.md"
    if not WHOLE:
        BLOCKS["growth"] = lambda: None
        print("without the table of up to 1024 ranks; RINGCRAFT_LONG=1 compares it, too")
    made = {name: block() for name, block in BLOCKS.items()}
    return marks.write_or_check({page: marks.renewed(marks.read(page), "methods", made.__getitem__)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
