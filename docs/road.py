"""Writes the table of lessons, from what their folders declare, into README.md and lessons/README.md.

A folder lessons/NNN_name declares a lesson by its lesson.json (src/cmake/RingcraftLessons.cmake says what it holds); one that
names no source is to come. The table stands between `<!-- road -->` and `<!-- /road -->`.
    python3 docs/road.py --write | --check
"""
import json
import sys

import marks


def lessons():
    """The declaration of every lesson, by number, with its folder, number and chapter."""
    chapters = json.loads(marks.read(marks.ROOT / "lessons/chapters.json"))
    folders = sorted(path.parent for path in marks.ROOT.glob("lessons/*/lesson.json"))
    return [{"folder": folder.name, "number": folder.name[:3], "chapter": chapters[folder.name[0]],
             **json.loads(marks.read(folder / "lesson.json"))} for folder in folders]


def table(prefix):
    """The road as Markdown; links start with `prefix`."""
    lines = ["| | lesson | | what it is about |", "|---|---|---|---|"]
    chapter = None
    for lesson in lessons():
        if lesson["chapter"] != chapter:
            chapter = lesson["chapter"]
            lines.append(f"| **{lesson['number'][0]}xx** | **{chapter}** | | |")
        here = "source" in lesson
        title = f"[{lesson['title']}]({prefix}{lesson['folder']}/README.md)" if here else lesson["title"]
        lines.append(f"| {lesson['number']} | {title} | {'**here**' if here else 'to come'} | {lesson['line']} |")
    return "\n".join(lines) + "\n"


def main():
    pages = {marks.ROOT / "README.md": "lessons/", marks.ROOT / "lessons/README.md": ""}
    return marks.write_or_check(
        {page: marks.renewed(marks.read(page), "road", lambda _, prefix=prefix: table(prefix))
         for page, prefix in pages.items()}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
