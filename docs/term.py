"""Writes the plan of a term into docs/pages/grading.md, between `<!-- term: plan -->` and `<!-- /term -->`.

Which lessons a week has is said here; points come from the program, which is given a class without solutions, and titles,
notebooks and figures from the pages of the lessons.
    python3 docs/term.py --write | --check       with the grader of build/native, or the one that RINGCRAFT_GRADER names
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import marks
import notebooks
import road
from tables import table

GRADER = os.environ.get("RINGCRAFT_GRADER", str(marks.ROOT / "build/native/bin/ringcraft-grader"))
LAYERS = "files,calls,namespaces,user"  # nothing here is a student's

# Lessons of each week, and what else it holds.
WEEKS = [([101, 102], ""), ([103], ""), ([104, 105], "`./ringcraft run`"), ([106, 107], ""), ([301, 302], ""),
         ([303], "`run --mine`"), ([304], ""), ([], "**Exam 1**: 1xx and 301 to 304"), ([305, 306], "`./ringcraft attend --trace`"),
         ([401, 402, 403], ""), ([404, 405], ""), ([501, 502, 503], "`./ringcraft simulate`"),
         ([505], "Project: `verify` judges a ring of one's own"), ([], "**Exam 2**: all of it, the project in hand")]


def exercises(lessons):
    """The exercises of these lessons with their points, as the report on a class has them that handed in nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # another user judges
        (folder / "class/student").mkdir(parents=True)
        subprocess.run([GRADER, "grade", folder / "class", "--out", folder / "grades", "--lessons", ",".join(map(str, lessons)),
                        "--side-exercises", "--without", LAYERS], check=True, stdout=subprocess.DEVNULL)
        return json.loads(marks.read(folder / "grades/report.json"))["exercises"]


def notebook_of():
    """The notebook that belongs to a lesson, as a link."""
    found = {}
    for path in notebooks.NOTEBOOKS:
        number, title, _, links = notebooks.first_cell(path)
        found |= {int(lesson): f"notebook {number}, [{title}](../../notebooks/{path.name})"
                  for lesson in re.findall(r"\[(\d{3})\]", " ".join(links))}
    return found


def figure_of(folder):
    """The first figure of a lesson's page, as a link."""
    page = marks.read(marks.ROOT / "lessons" / folder / "README.md")
    figure = re.search(r"\(\.\./\.\./docs/figures/([\w/]+)\.svg\)", page)
    return f"[`{figure[1]}`](../figures/{figure[1]}.svg)" if figure else ""


def points(number):
    return f"{number:g}"


def plan(_):
    known = {int(lesson["number"]): lesson for lesson in road.lessons()}
    lessons = [lesson for week, _ in WEEKS for lesson in week]
    all_exercises, pages, rows, total = exercises(lessons), notebook_of(), [], 0
    for week, (numbers, more) in enumerate(WEEKS, 1):
        here = [exercise for exercise in all_exercises if int(exercise["id"][:3]) in numbers]
        main = [exercise for exercise in here if "." not in exercise["id"]]
        side = [f"`{exercise['id']}` ({points(exercise['points'])})" for exercise in here if "." in exercise["id"]]
        titles = [(f"{number} {known[number]['title']}", known[number]["folder"]) for number in numbers]
        names = [f"[{title}](../../lessons/{folder}/README.md)" for title, folder in titles]
        show = [pages.get(number, "") for number in numbers] + [figure_of(known[number]["folder"]) for number in numbers]
        total += sum(exercise["points"] for exercise in main)
        rows.append([week, ", ".join(names), " + ".join(points(exercise["points"]) for exercise in main), ", ".join(side),
                     "; ".join(dict.fromkeys(each for each in [*show, more] if each))])
    rows.append(["", "**sum**", f"**{points(total)}**", "", ""])
    return table(["week", "lessons", "points", "side exercises (points)", "in the lecture"], rows)


def main():
    page = marks.ROOT / "docs/pages/grading.md"
    return marks.write_or_check({page: marks.renewed(marks.read(page), "term", plan)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
