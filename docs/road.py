"""Writes the table of lessons, from lessons/road.csv and the lesson folders, into README.md and lessons/README.md.

The table stands between `<!-- road -->` and `<!-- /road -->`. A lesson is here when its folder lessons/NNN_* has a page.
    python3 docs/road.py --write | --check
"""
import csv
import sys

import marks


def lessons():
    with open(marks.ROOT / "lessons/road.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if None in row or None in row.values() or '"' in "".join(row.values()):
            raise SystemExit(f"lessons/road.csv: {row['number']}: expected four fields without quotes, got {list(row.values())}")
    numbers = [row["number"] for row in rows]
    for folder in sorted(marks.ROOT.glob("lessons/[0-9][0-9][0-9]_*")):
        if folder.name[:3] not in numbers:
            raise SystemExit(f"lessons/road.csv: no row for {folder.name}")
    return rows


def folder_of(number):
    found = sorted(marks.ROOT.glob(f"lessons/{number}_*/README.md"))
    return found[0].parent.name if found else None


def table(prefix):
    """The road as Markdown; links start with `prefix`."""
    lines = ["| | lesson | | what it is about |", "|---|---|---|---|"]
    chapter = None
    for row in lessons():
        if row["chapter"] != chapter:
            chapter = row["chapter"]
            lines.append(f"| **{row['number'][0]}xx** | **{chapter}** | | |")
        folder = folder_of(row["number"])
        title = f"[{row['title']}]({prefix}{folder}/README.md)" if folder else row["title"]
        state = "**here**" if folder else "to come"
        lines.append(f"| {row['number']} | {title} | {state} | {row['line']} |")
    return "\n".join(lines) + "\n"


def main():
    pages = {marks.ROOT / "README.md": "lessons/", marks.ROOT / "lessons/README.md": ""}
    return marks.write_or_check(
        {page: marks.renewed(marks.read(page), "road", lambda _, prefix=prefix: table(prefix))
         for page, prefix in pages.items()}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
