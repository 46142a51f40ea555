"""The corpora of this tree as hand-ins: right, wrong, hostile and unfinished files, each with what a judge should find.

A right file is the library's own; an equivalent, a misconception and an attack are files of tests/misconceptions and
tests/attacks (edits applied as tests/misconceptions/edit.hpp says), a held-out one is of tests/held_out. The comment lines
that say what is wrong with a file are left out: a student does not know.
"""

import csv
import dataclasses
import functools
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = ROOT / "tests"


@dataclasses.dataclass(frozen=True)
class Lesson:
    number: str  # "104"
    folder: str  # "104_merge"
    source: pathlib.Path  # the library's own file

    @property
    def file(self):
        return self.source.name


@dataclasses.dataclass(frozen=True)
class Row:
    """A file of a corpus, and what the corpus says of it."""

    kind: str  # "right", "equivalent", "misconception", "held_out", "attack", "skeleton"
    name: str  # where it stands: "tests/misconceptions/104_merge/average.cpp"
    text: str
    points: str  # "all", "not all", or the most that it may earn: "0"
    causes: tuple = ()  # ids; the judge names one of them
    compiles: bool | None = True  # None: the corpus does not say


def lesson_of(number):
    path = next(ROOT.glob(f"lessons/{number}_*/lesson.json"), None)
    if path is None:
        raise SystemExit(f"there is no lesson {number}")
    declared = json.loads(path.read_text(encoding="utf-8"))
    if "source" not in declared:
        raise SystemExit(f"lesson {number} has no exercise")
    return Lesson(number, path.parent.name, ROOT / declared["source"])


def read(path):
    return path.read_text(encoding="utf-8")


def without_first_comment(text):
    """The text from its first line that is no comment."""
    return re.sub(r"\A(//.*\n)+", "", text)


def without_marks(text):
    return re.sub(r".*// (BEGIN|END) SOLUTION.*\n", "", text)


def skeleton(lesson):
    """The file that ./ringcraft start writes."""

    def body(match):
        indent, number, name, lines = match[1], match[2], match[3], match[4].count("\n")
        if number != lesson.number:
            return match[4]
        about = lines if lines < 10 else (lines + 2) // 5 * 5
        plural = "" if about == 1 else "s"
        return f"{indent}// TODO: write {name} here, about {about} line{plural}.\n{indent}throw NotWritten({number});\n"

    mark = r"( *)// BEGIN SOLUTION (\d{3}) \[(\w+)\]\n((?:.*\n)*?) *// END SOLUTION \[\3\]\n"
    return re.sub(mark, body, read(lesson.source))


def applied(edit, original):
    """The file that an edit stands for, of the original's text."""
    lines = without_first_comment(without_marks(original)).splitlines()
    hunks = []
    for hunk in edit.rstrip("\n").split("\n@@\n")[1:]:
        change = hunk.split("\n")
        before = [line[1:] for line in change if not line.startswith("+")]
        places = [at for at in range(len(lines)) if lines[at : at + len(before)] == before]
        if len(places) != 1:
            raise SystemExit(f"an edit's lines stand {len(places)} times in its original:\n" + "\n".join(before))
        hunks.append((places[0], len(before), [line[1:] for line in change if not line.startswith("-")]))
    for at, count, after in reversed(hunks):
        lines[at : at + count] = after
    return "\n".join(lines) + "\n"


def text_of(path, lesson):
    """A file of a corpus as a student hands it in."""
    text = read(path)
    if path.suffix != ".edit":
        return without_first_comment(text)
    named = re.search(r"^--- (.*)", text.split("\n@@\n")[0], re.M)
    return applied(text, read(path.parent / named[1] if named else lesson.source))


def row_of(kind, path, lesson, points, **more):
    return Row(kind, str(path.relative_to(ROOT)), text_of(path, lesson), points, **more)


def right(lesson):
    return Row("right", str(lesson.source.relative_to(ROOT)), without_marks(read(lesson.source)), "all")


def unwritten(lesson):
    return Row("skeleton", str(lesson.source.relative_to(ROOT)), skeleton(lesson), "0")


def files_in(folder):
    return sorted(path for path in folder.glob("*") if path.suffix in (".cpp", ".cu", ".edit"))


@functools.cache
def equivalents(lesson):
    return [
        row_of("equivalent", path, lesson, "not all" if "\n// May fail: " in read(path) else "all")
        for path in files_in(TESTS / "misconceptions/equivalent" / lesson.folder)
    ]


@functools.cache
def misconceptions(lesson):
    with open(TESTS / f"misconceptions/tables/{lesson.folder}.csv", encoding="utf-8", newline="") as lines:
        cause = {row["file"]: row["cause"] for row in csv.DictReader(lines)}
    return [
        row_of("misconception", path, lesson, "not all", causes=tuple(filter(None, [cause[path.stem]])))
        for path in files_in(TESTS / "misconceptions" / lesson.folder)
    ]


@functools.cache
def held_out(lesson):
    folders = sorted((TESTS / "held_out/exercises").glob(f"*/{lesson.folder}"))
    return [row_of("held_out", path, lesson, "not all") for folder in folders for path in files_in(folder)]


@functools.cache
def attacks(lesson):
    rows = []
    for path in files_in(TESTS / "attacks" / lesson.folder):
        earns = re.search(r"^// Earns: (\S+)", read(path), re.M)
        rows.append(row_of("attack", path, lesson, earns[1] if earns else "0", compiles=None))
    return rows
