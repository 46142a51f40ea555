"""Grades a made class with the program, as an instructor would, and compares what comes out with what was handed in.

    grade_class.py GRADER FOLDER

The first run is killed in the middle; the second goes on from there, and a third, which finds every verdict, gives the same
bytes. Then the same secret gives the same bytes in another folder, for lessons without ranks: of several ranks that fail at
once, any may be named. 6 students hand in 8 lessons, of which one is graded in the other folder; with RINGCRAFT_LONG set, 60
and four. Exits 77, with the reason, where namespaces are missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
SECRET = "00112233445566778899aabbccddeeff"
SKIPPED = 77  # SKIP_RETURN_CODE
TIMED = {"times.json"}


def absent_layers(grader):
    """The layers that this host lacks, with doctor's line for each."""
    lines = subprocess.run([grader, "doctor"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return {row[1]: " ".join(after) for row, after in zip(rows, rows[1:]) if row[0] == "missing"}


def files_of(out):
    """Every report of a class, without measured times and without what the ledger keeps."""
    pages = [path for path in out.rglob("*") if path.suffix in {".html", ".json", ".csv", ".xml"}]
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in pages
        if path.name not in TIMED and "verdicts" not in path.parts
    }


def verdicts(out):
    return sum(path.is_file() for path in (out / "verdicts").rglob("*"))


def killed(call, out, after):
    """Starts grading, and kills it when so many verdicts are there."""
    with subprocess.Popen(call, stdout=subprocess.DEVNULL) as run:
        while verdicts(out) < after:
            try:
                run.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            sys.exit(f"grading ended before {after} verdicts were there")
        run.kill()


def main(grader, folder):
    absent = absent_layers(grader)
    if "namespaces" in absent:
        print("skipped:", absent["namespaces"])
        return SKIPPED
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    handed_in, out, elsewhere = folder / "class", folder / "grades", folder / "elsewhere"
    long = "RINGCRAFT_LONG" in os.environ
    subprocess.run([sys.executable, HERE / "make_class.py", handed_in, "--students", "60" if long else "6"], check=True)

    def call(to, *more):
        without = ["--without", ",".join(absent)] if absent else []
        return [grader, "grade", handed_in, "--out", to, "--seed", SECRET, *without, *more]

    killed(call(out), out, 12)
    print(f"killed with {verdicts(out)} verdicts")
    subprocess.run(call(out), check=True)
    first = files_of(out)
    subprocess.run(call(out), check=True, stdout=subprocess.DEVNULL)
    if files_of(out) != first:
        sys.exit("a second run gives other bytes")
    for to in (out, elsewhere):
        subprocess.run(call(to, "--lessons", "101,103,104,106" if long else "104"), check=True, stdout=subprocess.DEVNULL)
    one, other = files_of(out), files_of(elsewhere)
    differing = sorted(name for name in other if one.get(name) != other[name])
    if differing:
        sys.exit("the same secret gives other bytes elsewhere: " + ", ".join(differing))
    (folder / "report.json").write_bytes(first["report.json"])
    check = [sys.executable, HERE / "check_class.py", folder / "report.json", folder / "class.truth.json"]
    return subprocess.run(check, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
