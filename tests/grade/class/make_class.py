#!/usr/bin/env python3
"""Makes a plausible class to grade, out of the corpora of this tree.

    make_class.py OUT [--students 60] [--seed 7] [--form plain|canvas|moodle|gradescope|classroom] [--lessons 101,103,...]
                  [--no-archives]

OUT is a new folder. Beside it, OUT.truth.json says what was handed in, for check_class.py. The same arguments give the same
bytes. Wrong files of the corpora are often relatives of each other, and alike. Of a hundred files:

    kind           about  is                                                                    earns
    right             26  the library's own file                                                all points
    style             14  the same or an equivalent, with other names, comments and layout      all points
    equivalent         6  tests/misconceptions/equivalent, each once at most                    all, but for what "May fail"
    misconception     26  tests/misconceptions, each at most once                               not all; its cause is named
    held_out           8  tests/held_out/exercises, each at most once                           not all
    broken             5  a right file with a slip of the pen                                   none: it is ungradable
    skeleton           3  as ./ringcraft start writes it                                        none
    missing            8  nothing                                                               none
    encoded            1  a right file saved as UTF-16                                          none: it is ungradable
    attack             3  tests/attacks, by every twentieth student, who is otherwise right     no more than its "Earns"
    copy               -  two files, taken from another student and renamed                     as the original

One in eight hands in more than once, and the best is not the last. Files in the form of Canvas are late now and then.
"""

import argparse
import json
import pathlib
import random
import sys

sys.dont_write_bytecode = True
import corpus
import disguise
import exports
from names import names

LESSONS = "101,103,104,106,301,303,304,403"
SHARES = {
    "right": 26,
    "style": 14,
    "equivalent": 6,
    "misconception": 26,
    "held_out": 8,
    "broken": 5,
    "skeleton": 3,
    "missing": 8,
    "encoded": 1,
}
COPIES = 2


class Deck:
    """Files of one lesson; all but the library's own are dealt once, so that honest students have nothing in common."""

    def __init__(self, lesson, dice):
        self.lesson, self.dice = lesson, dice
        self.known = corpus.skeleton(lesson)
        self.once = {
            kind: dice.sample(rows, len(rows))
            for kind, rows in (
                ("misconception", corpus.misconceptions(lesson)),
                ("held_out", corpus.held_out(lesson)),
                ("attack", corpus.attacks(lesson)),
                ("equivalent", corpus.equivalents(lesson)),
            )
        }

    def right(self):
        return self.hand_in("right", corpus.right(self.lesson))

    def hand_in(self, kind, row, text=None, note=""):
        data = (row.text if text is None else text).encode()
        state = {True: "graded", False: "ungradable", None: None}[row.compiles]
        return {
            "kind": kind,
            "row": row.name,
            "note": note,
            "points": row.points,
            "causes": list(row.causes),
            "state": state,
            "data": data,
        }

    def deal(self, kind):
        """A file of this kind, or a right one if there is none left."""
        if kind in self.once:
            return self.hand_in(kind, self.once[kind].pop()) if self.once[kind] else self.right()
        original = corpus.right(self.lesson)
        if kind == "style":
            if self.dice.random() < 0.3 and self.once["equivalent"] and self.once["equivalent"][-1].points == "all":
                original = self.once["equivalent"].pop()
            style, text = disguise.in_style(original.text, self.known, self.dice)
            return self.hand_in(kind, original, text, style)
        if kind == "skeleton":
            return self.hand_in(kind, corpus.unwritten(self.lesson))
        if kind in ("broken", "encoded"):
            slip, text = disguise.broken(original.text, self.dice) if kind == "broken" else ("UTF-16", original.text)
            made = self.hand_in(kind, original, text, slip) | {"points": "0", "state": "ungradable"}
            return made | {"data": text.encode("utf-16")} if kind == "encoded" else made
        return self.right()

    def copy_of(self, other):
        text = disguise.copied(other["data"].decode(), self.known, self.dice)
        return other | {"kind": "copy", "data": text.encode()}


def attempts(deck, kind, dice):
    """The files of a student for a lesson, from the first attempt to the last."""
    if kind == "missing":
        return []
    files = [deck.deal(kind)]
    if kind in ("right", "style", "equivalent") and files[0]["points"] == "all" and dice.random() < 0.3:
        before, after = (deck.deal(dice.choice(["misconception", "held_out", "broken", "skeleton"])) for _ in range(2))
        files = [before, files[0], after] if dice.random() < 0.5 else [files[0], after]
    return files


def make(lessons, students, dice):
    """For each student and lesson the attempts, and the pairs of copies."""
    decks = [Deck(lesson, dice) for lesson in lessons]
    at_whole = [at for at, lesson in enumerate(lessons) if whole_rows(lesson)]
    copied = {at: dice.choice(whole_rows(lessons[at])) for at in dice.sample(at_whole, min(COPIES, len(at_whole)))}
    for at, row in copied.items():
        decks[at].once["equivalent"].remove(row)
    kinds = dice.choices(list(SHARES), SHARES.values(), k=students * len(lessons))
    rows = [[attempts(deck, kinds.pop(), dice) for deck in decks] for _ in range(students)]
    hostile = range(10, students, 20)
    for student in hostile:
        rows[student] = [[deck.deal("attack")] for deck in decks]
    copies = []
    for at, row in copied.items():
        one, other = dice.sample([student for student in range(students) if student not in hostile], 2)
        rows[one][at] = [decks[at].hand_in("equivalent", row)]
        rows[other][at] = [decks[at].copy_of(rows[one][at][0])]
        copies.append((at, one, other))
    return rows, copies


def whole_rows(lesson):
    """Equivalents whose copies can be told: written anew, for text close to the library's own file is nobody's own, and
    with few relatives in the corpora (101 has many), for what much of the class has is not, either."""
    told = ("104_merge/branches.cpp", "105_blockwise/plain_loops.cpp", "106_backward/plain_loops.cpp")
    return [row for row in corpus.equivalents(lesson) if row.name.endswith(told)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--form", choices=exports.FORMS, default="plain")
    parser.add_argument("--lessons", default=LESSONS)
    parser.add_argument("--no-archives", action="store_true", help="all students as folders, for a build without libarchive")
    asked = parser.parse_args()
    dice = random.Random(f"{asked.seed} {asked.students} {asked.lessons}")
    lessons = [corpus.lesson_of(number) for number in asked.lessons.split(",")]
    rows, copies = make(lessons, asked.students, dice)
    asked.out.mkdir(parents=True)
    truth = {"form": asked.form, "seed": asked.seed, "exercises": [lesson.number for lesson in lessons], "students": []}
    options = {"archives": not asked.no_archives} if asked.form == "plain" else {}
    for number, (name, hand_ins) in enumerate(zip(names(asked.students), rows)):
        files = []
        for lesson, tried in zip(lessons, hand_ins):
            for at, each in enumerate(tried):
                each["late"] = asked.form == "canvas" and dice.random() < 0.1  # no other form says so
                files.append((lesson, at, each["late"], each.pop("data")))
        called = getattr(exports, asked.form)(asked.out, number, name, files, **options)
        results = {lesson.number: tried for lesson, tried in zip(lessons, hand_ins)}
        truth["students"].append({"name": name, "called": called, "handed_in": bool(files), "results": results})
    called = [student["called"] for student in truth["students"]]
    truth["copies"] = [
        {"exercise": lessons[at].number, "one": called[one], "other": called[other]} for at, one, other in copies
    ]
    text = json.dumps(truth, indent=1, sort_keys=True) + "\n"
    asked.out.with_name(asked.out.name + ".truth.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
