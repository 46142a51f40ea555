"""Checks that every lesson is whole: declaration, files, headings, demo, figure, formula, hints, questions, length; and every side
exercise: files, headings, commands, hints, its link in the lesson, its row in the tests.

    python3 docs/lint.py --check
Exits 1 and names what is missing. That links lead somewhere is doxygen_markdown.py's business, that hints have 20 to 160
words embed.py's, that the demo prints what demo.txt says and that skeletons fail and the library's files pass, ctest's.
"""
import argparse
import re
import sys

import lesson_pages
import marks
import road

HEADINGS = ["Goal", "You need", "Idea", "See it", "Task", "Check", "Hints", "Check yourself", "Look further"]
FILES = {"lesson.json", "README.md", "exercise.hpp", "checks.cpp", "demo.cpp", "demo.txt", "page.py", "hints", "puzzles"}
DECLARED = ["title", "line", "source", "function", "serves"]  # of a lesson that is here; the first two of one to come
MAY_DECLARE = {"allowed", "timed", "counted", "puzzles"}
KINDS = {"Find the bug", "Predict", "Break it", "Design the schedule"}
PUZZLE_HEADINGS = ["What is given", "What to do", "What is judged", "Hints"]
PUZZLE_WORDS = range(100, 700)
LONGEST_DEMO = 60  # lines
IN_THE_FIELD = "**In the field**: "  # begins the last line of every Idea: what libraries call it
MINUTES = range(10, 21)
WORDS_PER_MINUTE = 190  # of every lesson, hints and answers included, code and formulas left out


def solution_marks():
    """The numbers of the lessons that have a marked body in src/ or kernels/."""
    found = set()
    for folder in ("src", "kernels"):
        for path in (marks.ROOT / folder).rglob("*.c*"):
            found |= set(re.findall(r"// BEGIN SOLUTION (\d{3}) ", path.read_text(encoding="utf-8")))
    return found


def skeleton_lines(number):
    """Lengths of a lesson's bodies as `start` states them, in order: 'about N lines' (judge/tree/marks.cpp rounds like this)."""
    counts = []
    for path in sorted(p for folder in ("src", "kernels") for p in (marks.ROOT / folder).rglob("*.c*")):
        for body in re.findall(rf"// BEGIN SOLUTION {number} .*\n((?:.*\n)*?) *// END SOLUTION", path.read_text(encoding="utf-8")):
            lines = body.count("\n")
            counts.append(lines if lines < 10 else (lines + 2) // 5 * 5)
    return counts


def sections(text):
    """Heading -> text below it, for the headings of level 2 outside of code."""
    parts = re.split(r"^## (.*)\n", re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.S | re.M), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def prose_words(text):
    text = re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.S | re.M)
    return len(re.sub(r"<!--.*?-->|<[^>]*>|\$[^$]*\$", " ", text).split())


def declaration_problems_of(lesson):
    """Problems of a lesson's lesson.json, and of the list at the end of its checks.cpp."""
    where, folder = f"lessons/{lesson['folder']}", marks.ROOT / "lessons" / lesson["folder"]
    keys = [key for key in lesson if key not in ("folder", "number", "chapter")]
    if "source" not in lesson:
        only = keys == DECLARED[:2] and [path.name for path in folder.iterdir()] == ["lesson.json"]
        return [] if only else [f"{where}: to come, and has more than a title and a line: name its source, or take the rest away"]
    found = []
    if [key for key in keys if key not in MAY_DECLARE] != DECLARED or not all(lesson[key] for key in keys):
        found.append(f"{where}/lesson.json: expected {', '.join(DECLARED)}, and {' or '.join(sorted(MAY_DECLARE))} where needed; got {', '.join(keys)}")
    if not (marks.ROOT / lesson["source"]).is_file():
        found.append(f"{where}/lesson.json: no such file: {lesson['source']}")
    bodies = re.findall(rf"// BEGIN SOLUTION {lesson['number']} \[(\w+)\]", marks.read(marks.ROOT / lesson["source"]))
    if unnamed := [body for body in bodies if body not in re.findall(r"\w+", lesson["function"])]:
        found.append(f"{where}/lesson.json: expected every body of the source in \"function\"; {', '.join(unnamed)} is not there")
    checks, _, ordered = marks.read(folder / "checks.cpp").partition("checks_of<RINGCRAFT_LESSON>()")
    declared, listed = re.findall(r"^const Check (k\w+)", checks, re.M), re.findall(r"\bk\w+", ordered)
    if not listed or sorted(declared) != sorted(listed):
        found.append(f"{where}/checks.cpp: expected every Check in the list at its end, once: {', '.join(sorted(set(declared) ^ set(listed)))}")
    return found


def problems_of(folder, title, solved):
    number, where = folder.name[:3], f"lessons/{folder.name}"
    page = marks.read(folder / "README.md")
    parts = sections(page)

    def need(condition, sentence):
        return [] if condition else [f"{where}: {sentence}"]

    found = need(page.startswith(f"# Lesson {number}: {title}\n"), f"README.md: expected the title '# Lesson {number}: {title}'")
    found += need(list(parts) == HEADINGS, f"README.md: expected the headings {', '.join(HEADINGS)}, got {', '.join(parts)}")
    found += need(number in solved, f"expected a body between marks, '// BEGIN SOLUTION {number} [name]', in src/ or kernels/")
    for name in ("checks.cpp", "demo.cpp", "demo.txt", "hints/1.md", "hints/2.md", "hints/3.md"):
        found += need((folder / name).exists(), f"expected a file {name}")
    for path in sorted(folder.iterdir()):
        found += need(path.name in FILES or path.name == "__pycache__", f"{path.name}: no lesson has such a file")
    found += need(sorted(path.name for path in (folder / "hints").iterdir()) == ["1.md", "2.md", "3.md"], "hints: expected 1.md, 2.md and 3.md")
    found += need(len(marks.read(folder / "demo.cpp").splitlines()) <= LONGEST_DEMO, f"demo.cpp: at most {LONGEST_DEMO} lines")
    for name in ("demo.cpp", "demo.txt"):
        found += need(f"<!-- source: {where}/{name} -->" in parts.get("See it", ""), f"README.md, See it: expected the block of {name}")
    found += need("```math" in page.split("## Task")[0], "README.md, Idea: expected a formula")
    said = parts.get("Idea", "").rstrip("\n").split("\n")[-1].partition(IN_THE_FIELD)
    found += need(not said[0] and "`" in said[2], f"README.md, Idea: expected a last line '{IN_THE_FIELD}...' with a name in code")
    found += need(re.search(r"!\[[^\]]+\]\(\.\./\.\./docs/figures/(?:\w+/)?\w+\.svg\)", page), "README.md: expected a figure of docs/figures")
    for level in "123":
        found += need(f"<!-- hint: {level} -->" in parts.get("Hints", ""), f"README.md, Hints: expected hint {level}")
    found += need(parts.get("Check yourself", "").count("<details>") >= 3, "README.md, Check yourself: expected three folded answers")
    found += need(page.count("<details>") == page.count("</details>"), "README.md: a <details> without its end")
    for command in ("start", "check"):
        found += need(f"./ringcraft {command} {number}" in page, f"README.md: expected the command ./ringcraft {command} {number}")
    stated = re.search(r"^About ([\d, and]+) lines", parts.get("Task", ""), re.M)
    stated = [int(count) for count in re.findall(r"\d+", stated[1])] if stated else []
    counts = skeleton_lines(number)
    found += need(stated and set(stated) == set(counts), f"README.md, Task: expected 'About {' and '.join(map(str, counts))} lines'")
    last = page.rstrip("\n").split("\n")[-1]
    found += need(last.startswith("Next on the road: ") and last.endswith(" [All lessons](../README.md)."),
                  "README.md: expected the last line 'Next on the road: ... [All lessons](../README.md).'")
    found += need(number == max(solved) or re.search(r"\[lesson \d{3}\]\(\.\./\d{3}_\w+/README\.md\)", last), "README.md: expected a link to the next lesson in the last line")
    stated = re.search(r"^\*(\d+) minutes to read", page, re.M)
    minutes, words = int(stated[1]) if stated else 0, prose_words(page)
    found += need(minutes in MINUTES, f"README.md: expected '*N minutes to read ...*' with N from {MINUTES[0]} to {MINUTES[-1]}")
    needed = words / WORDS_PER_MINUTE
    found += need(abs(minutes - needed) < 1, f"README.md: {words} words are {needed:.0f} minutes to read, and the page says {minutes}")
    return found


def puzzle_problems_of(folder):
    """Problems of a side exercise. `folder` is lessons/NNN_name/puzzles/NAME."""
    lesson = folder.parent.parent
    puzzle = f"{lesson.name[:3]}.{folder.name}"
    where, page = folder.relative_to(marks.ROOT), marks.read(folder / "README.md")
    parts = sections(page)

    def need(condition, sentence):
        return [] if condition else [f"{where}: {sentence}"]

    found = need(page.startswith(f"# {puzzle}: "), f"README.md: expected the title '# {puzzle}: ...'")
    kind = re.search(r"^\*([A-Z][a-z ]+)\. A side exercise of \[lesson (\d{3})\]", page, re.M)
    found += need(kind and kind[1] in KINDS and kind[2] == lesson.name[:3],
                  f"README.md: expected a line '*KIND. A side exercise of [lesson {lesson.name[:3]}](...)' of {', '.join(sorted(KINDS))}")
    found += need(list(parts) == PUZZLE_HEADINGS, f"README.md: expected the headings {', '.join(PUZZLE_HEADINGS)}, got {', '.join(parts)}")
    found += need((folder / "puzzle.cpp").exists(), "expected a file puzzle.cpp")
    found += need((folder / "hints").is_dir() and sorted(path.name for path in (folder / "hints").iterdir()) == ["1.md", "2.md", "3.md"],
                  "hints: expected 1.md, 2.md and 3.md")
    for level in "123":
        found += need(f"<!-- hint: {level} -->" in parts.get("Hints", ""), f"README.md, Hints: expected hint {level}")
    for command in ("start", "check"):
        found += need(f"./ringcraft {command} {puzzle}" in page, f"README.md: expected the command ./ringcraft {command} {puzzle}")
    found += need(prose_words(page) in PUZZLE_WORDS, f"README.md: {prose_words(page)} words, and a side exercise has "
                  f"{PUZZLE_WORDS[0]} to {PUZZLE_WORDS[-1]}")
    last = page.rstrip("\n").split("\n")[-1]
    found += need(last == f"Back to [lesson {lesson.name[:3]}](../../README.md). [All lessons](../../../README.md).",
                  "README.md: expected the last line 'Back to [lesson NNN](../../README.md). [All lessons](../../../README.md).'")
    link, task = f"(puzzles/{folder.name}/README.md)", sections(marks.read(lesson / "README.md")).get("Task", "")
    found += need(link in task and f"`./ringcraft start {puzzle}`" in task,
                  f"{lesson.name}/README.md, Task: expected 'Side exercise: ...' with the link {link} and the command that starts it")
    found += need(f'"{puzzle}"' in marks.read(marks.ROOT / "tests/puzzles/puzzles_test.cpp"), "expected it in tests/puzzles/puzzles_test.cpp")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", required=True)
    parser.parse_args()
    lessons = road.lessons()
    titles = {lesson["folder"]: lesson["title"] for lesson in lessons}
    solved = solution_marks()
    folders = lesson_pages.folders()
    problems = [line for lesson in lessons for line in declaration_problems_of(lesson)]
    problems += [line for folder in folders for line in problems_of(folder, titles[folder.name], solved)]
    puzzles = sorted(path for path in marks.ROOT.glob("lessons/[0-9]*/puzzles/*") if path.is_dir())
    problems += [line for folder in puzzles for line in puzzle_problems_of(folder)]
    print("\n".join(problems) if problems else f"{len(folders)} lessons and {len(puzzles)} side exercises are whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
