"""The table of docs/pages/others_rings.md, between `<!-- others: verdicts -->` and `<!-- /others -->`: what
tests/foreign/from_python.py says of rings that others published. It takes minutes, and what tests/python/python.sh installs
with RINGCRAFT_LONG=1.

    python3 docs/others.py --write | --check     with the Python of build/python-venv, or the one that RINGCRAFT_PYTHON names
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import marks
from outputs import processor
from tables import table

PYTHON = os.environ.get("RINGCRAFT_PYTHON", str(marks.ROOT / "build/python-venv/bin/python"))


def asked():
    """The verdicts, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([PYTHON, marks.ROOT / "tests/foreign/from_python.py", "--json", report], check=False)
        if done.returncode != 0:
            raise SystemExit(f"from_python.py: expected exit code 0, got {done.returncode}; nothing is written")
        return json.loads(marks.read(report))


def named(row):
    """The cause without the evidence for it; of a long description, its beginning."""
    sentence = textwrap.shorten(row["sentence"].split(" (")[0], 160, placeholder=" ...").replace("|", "\\|")
    return f"`{row['cause']}`: {sentence}" if row["cause"] else "none" if row["wrong"] else ""


def verdicts(_name):
    rows, before = [], None
    for row in asked():
        ring = f"{row['ring']}, `{row['name']}`, {row['type']}"
        rows.append([ring if ring != before else "", row["what"], f"{row['wrong']} of {row['cases']}", named(row)])
        before = ring
    head = ["ring", "as published, or what was changed", "wrong", "the cause that `verify` names"]
    return f"On {processor()}:\n\n{table(head, rows)}"


def main():
    page = marks.ROOT / "docs/pages/others_rings.md"
    return marks.write_or_check({page: marks.renewed(marks.read(page), "others", verdicts)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
