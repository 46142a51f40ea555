"""Copies what stands elsewhere into the pages: hints into their lesson, source files into the README.

`<!-- hint: 2 -->` in lessons/NNN_name/README.md takes lessons/NNN_name/hints/2.md, and likewise for a side exercise; the
hint files are the source, and what reads a hint reads them. `<!-- source: docs/examples/first_ring.cpp -->` takes the file, as a listing.
    python3 docs/embed.py --write | --check
"""
import sys

import marks

LANGUAGES = {".cpp": "cpp", ".cu": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".txt": "text"}


def hint(page, number):
    text = marks.read(page.parent / "hints" / f"{number}.md")
    words = len(text.split())
    if not 20 <= words <= 160:
        raise SystemExit(f"{page.parent.name}/hints/{number}.md: expected 20 to 160 words, got {words}")
    return text


def listing(path):
    source = marks.ROOT / path
    return f"```{LANGUAGES[source.suffix]}\n{source.read_text(encoding='utf-8')}```\n"


def main():
    wanted = {}
    for page in marks.pages():
        text = marks.renewed(marks.read(page), "hint", lambda number: hint(page, number))
        wanted[page] = marks.renewed(text, "source", listing)
    return marks.write_or_check(wanted, __doc__)


if __name__ == "__main__":
    sys.exit(main())
