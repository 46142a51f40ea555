"""How often the first cause is true, over mistakes that the diagnosis was not made from.

exercises/ holds whole submissions, claims/ whole rings in NumPy (case.py and right.py are theirs), in sets as they came. The
first lines of each file say what it gets wrong; true_causes.csv says which cause ids are true of it. A file that gets no
cause, or only hears that its numbers are none or which of them are wrong (~ID in the csv), counts as absent, one whose first
cause is another as untrue. Its column first_sight holds what came of a set before anything was changed for it, its column now
what comes of each file at present.
    python3 tests/held_out/measure.py JUDGE_PROBE RINGCRAFT_TOOL [--list | --write | --check | --seeds]
--list prints every file with its first cause. --write renews the column now, the table of docs/pages/diagnosis.md, which
counts it, and what causes cost. --check fails if the table counts otherwise, or if a file has another verdict: every sixth
file is judged, with RINGCRAFT_LONG=1 each. Without NumPy no claim is, and --check says so and exits with 77. --seeds only
asks whether each submission's first cause is the same for 20 seeds (with RINGCRAFT_LONG=1).
"""
import collections
import concurrent.futures
import csv
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "claims"), str(HERE.parents[1] / "docs")]
import marks

PAGE, TRUE_CAUSES = HERE.parents[1] / "docs/pages/diagnosis.md", HERE / "true_causes.csv"
HAS_NUMPY = importlib.util.find_spec("numpy") is not None
CHAPTERS = {"1": "one device", "2": "kernels", "3": "the ring", "4": "masks and balance", "5": "a real system"}


def first_cause(report):
    """The first cause of the first row that has one: (id, sentence), or None."""
    for row in report["rows"]:
        for cause in row.get("causes", []):
            return cause["id"], cause["sentence"]
    return None


def of_exercise(probe, path, *options):
    """Its first cause, how many lines `check` prints, and the processor seconds that the causes cost."""
    lesson = path.parent.name[:3]
    ran = subprocess.run([probe, "--json", lesson, path, *options], capture_output=True, text=True, check=False)
    if not ran.stdout:
        sys.exit(f"{path}: judge_probe ends with {ran.returncode}\n{ran.stderr}")
    report = json.loads(ran.stdout)
    if report["good"]:
        sys.exit(f"{path} passes: it is no mistake any more")
    if report["rows"][0]["status"] != "passed":
        sys.exit(f"{path} does not compile any more:\n{report['rows'][0]['sentence']}")
    *lines, seconds = ran.stderr.splitlines()
    return first_cause(report), len(lines), float(seconds)


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_claim(module, name, folder):
    """The files IN and CLAIM of a ring, and verify's flags for them."""
    import case as lib

    case = module.CASE
    given = lib.inputs(case, lib.seed_of(name))
    made = module.run(*(tensor.copy() for tensor in given))
    names = ["out", "lse"] + (["dq", "dk", "dv"] if case["backward"] else [])
    files = [folder / "in.safetensors", folder / "claim.safetensors"]
    lib.save(files[0], dict(zip(("q", "k", "v", "dout"), given)), case["dtype"])
    lib.save(files[1], {key: made[key] for key in names}, case["dtype"])
    flags = ["--ranks", str(case["ranks"]), "--layout", case["layout"]]
    flags += ["--causal"] if case["causal"] else []
    flags += ["--window", str(case["window"])] if case["window"] is not None else []
    flags += ["--cu-seqlens", ",".join(map(str, case["cu_seqlens"]))] if case["cu_seqlens"] else []
    return files, flags


def of_claim(tool, path):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (given, claim), flags = write_claim(module_of(path), path.stem, folder)
        out = folder / "report.json"
        call = [tool, "verify", "--input", given, "--claim", claim, "--json", out, *flags]
        ran = subprocess.run(call, capture_output=True, text=True, check=False)
        if ran.returncode != (0 if path.stem == "right" else 1):
            sys.exit(f"{path}: verify ends with {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return first_cause(json.loads(out.read_text(encoding="utf-8")))


def exercises():
    return sorted((HERE / "exercises").glob("*/*/*.c*"), key=lambda path: (path.parent.name, path))


def recorded():
    """The rows of true_causes.csv."""
    with open(TRUE_CAUSES, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def at_first_sight():
    """How many files of each program had which verdict when they were new, where that is known."""
    tallies = collections.defaultdict(collections.Counter)
    for row in recorded():
        if row["first_sight"]:
            kind, part = row["file"].split("/")[:2]
            program = "`check`" if kind == "exercises" else "`verify`"
            tallies[f"{program}, {part} set at first sight"][row["first_sight"]] += 1
    return tallies


def in_order(group):
    """check before verify, and the sets in the order in which they came."""
    return group.split(",")[0], [name in group for name in ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")].index(True)


def row_of_table(group, tally):
    files = sum(tally.values())
    share = [f"{tally[verdict]} ({100 * tally[verdict] / files:.0f} %)" for verdict in ("true", "untrue", "absent")]
    return f"| {group} | {files} | " + " | ".join(share) + " |"


def group_of(name):
    """The row of the table that counts this file."""
    kind, _, part, *_ = pathlib.Path(name).parts
    return "`check`, " + CHAPTERS[part[0]] if kind == "exercises" else "`verify`, " + part


def judged(probe, tool, step):
    """(file, verdict, cause) of every step-th file, the lines that `check` prints of each, and what a cause costs on the CPU."""
    true = {row["file"]: row["causes"].split() for row in recorded()}
    found, lines, costs = [], [], []

    def add(path, cause):
        name = str(path.relative_to(HERE))
        vague = cause is None or cause[0] in ("NaN", "ZERO") or "~" + cause[0] in true[name]
        verdict = "absent" if vague else "true" if cause[0] in true[name] else "untrue"
        found.append((name, verdict, cause))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = exercises()[::step]
        for path, (cause, count, seconds) in zip(paths, pool.map(lambda path: of_exercise(probe, path), paths)):
            lines.append(count)
            if path.parent.name[0] != "2":
                costs.append(seconds)
            add(path, cause)
        if HAS_NUMPY:
            of_claim(tool, HERE / "claims/right.py")
            paths = sorted((HERE / "claims").glob("*/*/*.py"))[::step]
            for path, cause in zip(paths, pool.map(lambda path: of_claim(tool, path), paths)):
                add(path, cause)
    return found, lines, costs


def table():
    groups = collections.defaultdict(collections.Counter)
    for row in recorded():
        group = group_of(row["file"])
        for each in (group, group.split(",")[0] + ", all"):
            groups[each][row["now"]] += 1
    lines = ["| mistakes | files | first cause true | untrue | none |", "|---|---|---|---|---|"]
    parts = [*CHAPTERS.values(), "bfloat16", "float32", "float64", "all"]
    for group in sorted(groups, key=lambda name: (name.split(", ")[0], parts.index(name.split(", ")[1]))):
        lines.append(row_of_table(group, groups[group]))
    first = at_first_sight()
    lines += [row_of_table(group, first[group]) for group in sorted(first, key=in_order)]
    return "\n".join(lines) + "\n"


def length_of(printed):
    """How much `check` says."""
    return f"`check` prints {statistics.median_low(printed)} lines of a wrong file in the median, {max(printed)} at most.\n"


def record(found):
    """Renews the column now of the files that were judged."""
    rows, verdicts = recorded(), {name: verdict for name, verdict, _ in found}
    with open(TRUE_CAUSES, "w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, rows[0], lineterminator="\n")
        lines.writeheader()
        for row in rows:
            lines.writerow({**row, "now": verdicts.get(row["file"], row["now"])})


def check(found):
    """0 if the page counts what is recorded, and all that was judged has the verdict that is recorded; 77 without claims."""
    now = {row["file"]: row["now"] for row in recorded()}
    other = [f"{name}: {verdict}, and {now[name]} before: {' '.join(cause or ['no cause'])}" for name, verdict, cause in found
             if verdict != now[name]]
    print(*other, f"{len(found)} of {len(now)} files judged, {len(other)} with another verdict", sep="\n")
    if not HAS_NUMPY:
        print("the claims need NumPy (package python3-numpy): skipped")
    stale = marks.write_or_check({PAGE: marks.renewed(marks.read(PAGE), "held-out", lambda _: table())}, __doc__, ["--check"])
    return 1 if other or stale else 0 if HAS_NUMPY else 77


def sentence_of(costs):
    """The cost of a cause, and the machine."""
    costs = sorted(costs)
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    machine = re.search(r"^model name\s*:\s*(.*)", text, re.MULTILINE).group(1)
    return f"The causes of a file of a CPU lesson cost {statistics.median_low(costs):.2f} processor seconds in the median, " \
           f"{costs[len(costs) * 95 // 100]:.2f} or less for 95 % of the files and {costs[-1]:.2f} at most ({machine}).\n"


def compare_seeds(probe):
    """Whether each submission has the same first cause for 20 seeds, which the long run alone asks."""
    if os.environ.get("RINGCRAFT_LONG") != "1":
        print("long: RINGCRAFT_LONG=1 compares 20 seeds of every submission")
        return 77
    seeds, paths = 20, exercises()

    def tally_of(path):
        causes = (of_exercise(probe, path, "10", str(seed))[0] for seed in range(1, seeds + 1))
        return collections.Counter(cause[0] if cause else "none" for cause in causes)

    differ = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, tally in zip(paths, pool.map(tally_of, paths)):
            if len(tally) > 1:
                differ += 1
                print(f"{path.relative_to(HERE)}: {dict(tally)}", flush=True)
    print(f"{len(paths) - differ} of {len(paths)} submissions have the same first cause for {seeds} seeds")
    return 1 if differ else 0


def main():
    probe, tool, *options = sys.argv[1:]
    if options == ["--seeds"]:
        sys.exit(compare_seeds(probe))
    step = 6 if "--check" in options and os.environ.get("RINGCRAFT_LONG") != "1" else 1
    found, printed, costs = judged(probe, tool, step)
    if "--list" in options:
        for name, verdict, cause in found:
            print(f"{verdict:7} {name}: {' '.join(cause) if cause else ''}")
    if "--write" in options:
        record(found)
        text = marks.renewed(marks.read(PAGE), "held-out", lambda _: table())
        text = marks.renewed(text, "held-out-lines", lambda _: length_of(printed))
        text = marks.renewed(text, "cause-costs", lambda _: sentence_of(costs))
        sys.exit(marks.write_or_check({PAGE: text}, __doc__, ["--write"]))
    if "--check" in options:
        sys.exit(check(found))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
