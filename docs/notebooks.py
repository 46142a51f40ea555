"""The list of notebooks in notebooks/README.md, from the first cell of each: number, title, first sentence, lessons.

`<!-- notebooks -->` ... `<!-- /notebooks -->` holds the table.
    python3 docs/notebooks.py --write | --check
"""
import json
import re
import sys

import marks
import tables

FOLDER = marks.ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9]_*.ipynb"))
TITLE = re.compile(r"# (\d)\. (.+)")


def first_cell(path):
    """Number, title, first sentence, and the links to lessons and pages."""
    text = "".join(json.loads(marks.read(path))["cells"][0]["source"])
    heading, _, rest = text.partition("\n\n")
    title, sentence = TITLE.fullmatch(heading), re.match(r"[^.]+\.(?=\s)", rest)
    if not title or not sentence:
        raise SystemExit(f"notebooks/{path.name}: expected a first cell with '# N. Title', a blank line and a sentence")
    return title[1], title[2], " ".join(sentence[0].split()), re.findall(r"\[[^\]]+\]\([^)]+\)", rest)


def table(_):
    rows = []
    for path in NOTEBOOKS:
        number, title, sentence, links = first_cell(path)
        rows.append([number, f"[{title}]({path.name})", sentence, ", ".join(links)])
    return tables.table(["", "notebook", "about", "read"], rows)


def main():
    page = FOLDER / "README.md"
    return marks.write_or_check({page: marks.renewed(marks.read(page), "notebooks", table)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
