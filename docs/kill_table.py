"""Writes docs/pages/kill_table.md: which check of a lesson catches which known mistake, from tests/misconceptions/tables.

The tables are written by `build/native/bin/misconceptions --write`, which judges every file of
tests/misconceptions. Ends with an error for a check that catches nothing.
    python3 docs/kill_table.py --write | --check
"""
import csv
import sys

import marks
import tables

PAGE = marks.ROOT / "docs/pages/kill_table.md"
HEAD = """# The kill table

Every lesson has a corpus of wrong implementations, [`tests/misconceptions`](../../tests/misconceptions), and every one of them is
judged as a student's file would be. Here stands how each check ended for each of them: this is the strength of the checks,
measured. In the last column stands the first cause that the [diagnosis](diagnosis.md) solves for, by its id.

`.` passed, `x` wrong values, `n` NaN or infinity, `m` a deadlock or lengths that disagree, `c` right values but other bytes, phases
or times, `i` an input was written, `t` an exception, `e` a crash or a limit, `h` no answer, `f` what the
checker of a kernel's launch found, `-` not tried, for a check that it needs
did not pass.

A check *alone* catches what no other check catches. One that catches nothing alone is redundant for this corpus; it stays
for what it says to the student, or for mistakes that nobody has made yet.
"""
CAUGHT = set("xnmcitehpf")


def signs_of(checks):
    """[(check, sign)] of one row."""
    return [tuple(word.split("=")) for word in checks.split()]


def file_of(folder, name):
    """The wrong implementation of this name: a kernel or host code."""
    found = sorted((marks.ROOT / "tests/misconceptions" / folder.name).glob(f"{name}.*"))
    return found[0].name if found else f"{name}.cpp"


def rows_of(folder):
    path = marks.ROOT / f"tests/misconceptions/tables/{folder.name}.csv"
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Lesson:
    """One lesson's rows, and how often each check catches something, with others or alone."""

    def __init__(self, folder):
        self.folder, self.rows = folder, rows_of(folder)
        self.signs = [signs_of(row["checks"]) for row in self.rows]
        self.checks = [check for check, _ in self.signs[0]]
        self.caught = {check: 0 for check in self.checks}
        self.alone = dict(self.caught)
        for signs in self.signs:
            catching = [check for check, sign in signs if sign in CAUGHT]
            for check in catching:
                self.caught[check] += 1
                self.alone[check] += len(catching) == 1
        idle = [check for check in self.checks if not self.caught[check]]
        if idle:
            raise SystemExit(f"lessons/{folder.name}: catch nothing: {', '.join(idle)}; write a wrong implementation for each")

    def section(self):
        title = marks.read(self.folder / "README.md").split("\n")[0].lstrip("# ")
        checks = [[place, f"`{check}`", self.caught[check], self.alone[check] or "redundant"]
                  for place, check in enumerate(self.checks, 1)]
        files = [[row["id"], f"[`{row['file']}`](../../tests/misconceptions/{self.folder.name}/{file_of(self.folder, row['file'])})",
                  row["sentence"].replace("|", "\\|"), f"`{''.join(sign for _, sign in signs)}`", f"`{row['cause']}`" if row["cause"] else "none"]
                 for row, signs in zip(self.rows, self.signs)]
        return f"\n## {title}\n\n" + tables.table(["", "check", "catches", "alone"], checks) + "\n" + \
            tables.table(["", "file", "mistake", "checks in order", "first cause"], files)


def page():
    tables_of_lessons = sorted(marks.ROOT.glob("tests/misconceptions/tables/*.csv"))
    lessons = [Lesson(marks.ROOT / "lessons" / path.stem) for path in tables_of_lessons]
    rows = [row for lesson in lessons for row in lesson.rows]
    redundant = sum(alone == 0 for lesson in lessons for alone in lesson.alone.values())
    summary = f"\n{len(rows)} wrong implementations of {len({row['id'] for row in rows})} mistakes, and " \
              f"{sum(len(lesson.checks) for lesson in lessons)} checks in {len(lessons)} lessons: each catches something, " \
              f"{redundant} catch nothing alone.\n"
    return HEAD + summary + "".join(lesson.section() for lesson in lessons)


if __name__ == "__main__":
    sys.exit(marks.write_or_check({PAGE: page()}, __doc__))
