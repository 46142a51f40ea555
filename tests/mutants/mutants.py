"""Whether the checks of the CPU lessons notice a change of one token, or a lost statement, in the library's own exercise.

Each mutant is a file of src/ as a student would hand it in. In the body that the exercise asks for one operator, number, bool or
neighbour is exchanged, or one statement is left out. Those that still pass stand in passing.csv with the reason; a mutant that passes
without one is a hole in the checks of its lesson.
    python3 tests/mutants/mutants.py JUDGE_PROBE [--list | --check | --write] [LESSON...]
--list prints what came of each mutant. --check fails if one passes that is not listed, or if a listed one does not pass or exist any
more: every 40th is judged, and so is every 10th of those that are listed; with RINGCRAFT_LONG=1 each, and the table of
docs/pages/testing.md must count what came of them. --write judges all, and renews that table.
"""
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import marks

PAGE, PASSING = ROOT / "docs/pages/testing.md", HERE / "passing.csv"
BEGIN, END = re.compile(r"// BEGIN SOLUTION (\d+) \["), re.compile(r"// END SOLUTION ")

# Each token and its replacement. Binary operators stand between blanks, which those of templates and references do not.
BINARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/",
          "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "*=": "="}
OTHERS = {"true": "false", "false": "true", "min": "max", "max": "min", "next": "previous", "previous": "next", "++": "--", "--": "++",
          "!": "", "-": ""}
TOKEN = re.compile(r'"[^"]*"|(?<= )(?P<binary>[<>=!+*/%-]=|[<>+*/%-]|&&|\|\|)(?= |$)|(?<![\w.])(?P<number>\d+)(?![\w.])|'
                   r"(?P<other>\+\+|--|(?<!\w)[!-](?=\w)|\b(?:true|false|min|max|next|previous)\b)")
STATEMENT = re.compile(r"(?!return|const|[A-Z]|std::(?:vector|size_t)|int |bool |auto |double )[^{}]*;")  # no declaration

Mutant = collections.namedtuple("Mutant", "lesson file line nth was becomes")  # nth of the equal changes in its file, from 1


def replacements(token):
    """The replacements of a match of TOKEN, one after the other."""
    if number := token["number"]:
        return [str(other) for other in (int(number) + 1, int(number) - 1) if other >= 0]
    other = BINARY.get(token["binary"]) if token["binary"] else OTHERS.get(token["other"])
    return [] if other is None else [other]


def mutants_of(path):
    """The mutants of a file, in the order of its text."""
    found, lesson, equal = [], None, collections.Counter()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        code, changed = re.sub("//.*", "", line).strip(), []
        if begun := BEGIN.search(line):
            lesson = begun[1]
        elif END.search(line):
            lesson = None
        elif lesson and not code.startswith("#"):
            changed = [code[: token.start()] + other + code[token.end():] for token in TOKEN.finditer(code) for other in replacements(token)]
            if STATEMENT.fullmatch(code) and code.count("(") == code.count(")"):
                changed.append("")
        for other in changed:
            equal[code, other] += 1
            found.append(Mutant(lesson, str(path.relative_to(ROOT)), number, equal[code, other], code, other))
    return found


def all_mutants():
    """Those of all CPU lessons, lesson by lesson."""
    found = [mutant for path in sorted(ROOT.glob("src/ringcraft/**/*.cpp")) for mutant in mutants_of(path)]
    return sorted(found, key=lambda mutant: mutant.lesson)


def name_of(mutant):
    return mutant.file, mutant.nth, mutant.was, mutant.becomes


def outcome(probe, mutant):
    """passed, failed, or none if it does not compile."""
    path = ROOT / mutant.file
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[mutant.line] = lines[mutant.line].replace(mutant.was, mutant.becomes, 1)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path.name
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ran = subprocess.run([probe, "--json", mutant.lesson, file, "2"], capture_output=True, text=True, check=False)
    if not ran.stdout:
        sys.exit(f"{mutant}: judge_probe ends with {ran.returncode}\n{ran.stderr}")
    report = json.loads(ran.stdout)
    return "passed" if report["good"] else "failed" if report["rows"][0]["status"] == "passed" else "none"


def judged(probe, mutants):
    """(mutant, outcome) of each."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(mutants, pool.map(lambda mutant: outcome(probe, mutant), mutants)))


def listed():
    """The reason for each mutant that passes."""
    with open(PASSING, encoding="utf-8", newline="") as lines:
        return {(row["file"], int(row["nth"]), row["was"], row["becomes"]): row["why"] for row in csv.DictReader(lines)}


def complaints(found, known, mutants):
    """The complaints of --check: about those judged, and about the list."""
    said = [f"{m.lesson} {m.file}: passes, and is not listed:\n  - {m.was}\n  + {m.becomes}"
            for m, result in found if result == "passed" and name_of(m) not in known]
    said += [f"{m.lesson} {m.file}: listed, and passes no more:\n  - {m.was}\n  + {m.becomes}"
             for m, result in found if result != "passed" and name_of(m) in known]
    names = {name_of(m) for m in mutants}
    return said + [f"{file}: listed, and no mutant any more:\n  - {was}\n  + {becomes}"
                   for file, nth, was, becomes in known if (file, nth, was, becomes) not in names]


def table(found):
    chapters = json.loads(marks.read(ROOT / "lessons/chapters.json"))
    tallies = collections.defaultdict(collections.Counter)
    for mutant, result in found:
        tallies[mutant.lesson[0]][result] += 1
    lines = ["| lessons | mutants | fail | pass, each with its reason |", "|---|---|---|---|"]
    for part, tally in [*sorted(tallies.items()), ("all", sum(tallies.values(), collections.Counter()))]:
        count = tally["passed"] + tally["failed"]
        lines.append(f"| {chapters.get(part, part)} | {count} | {tally['failed']} | {tally['passed']} |")
    return "\n".join(lines) + "\n"


def main():
    probe, *options = sys.argv[1:]
    lessons = [option for option in options if not option.startswith("--")]
    everything, known = all_mutants(), listed()
    mutants = [m for m in everything if not lessons or m.lesson in lessons]
    if "--check" in options and os.environ.get("RINGCRAFT_LONG") != "1":
        some = [m for m in mutants if name_of(m) not in known][::40] + [m for m in mutants if name_of(m) in known][::10]
    else:
        some = mutants
    found = judged(probe, some)
    if "--list" in options:
        for mutant, result in found:
            print(f"{result:6} {mutant.lesson} {mutant.file}:{mutant.line + 1}\n  - {mutant.was}\n  + {mutant.becomes}")
    said = complaints(found, known, everything)
    print(*said, f"{len(found)} of {len(mutants)} mutants judged, {len(said)} of them unlike the list", sep="\n")
    stale = 0
    if len(found) == len(mutants) and not lessons and "--list" not in options:
        text = marks.renewed(marks.read(PAGE), "mutants", lambda _: table(found))
        stale = marks.write_or_check({PAGE: text}, __doc__, ["--write" if "--write" in options else "--check"])
    sys.exit(1 if said or stale else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
