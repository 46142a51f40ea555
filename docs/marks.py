"""Text between marks in Markdown files, and files that are made as a whole.

A block reads `<!-- KIND: NAME -->` ... `<!-- /KIND -->` (or `<!-- KIND -->` without a name); what stands in between is
written by a program. Every script of this folder that writes such blocks has the same two modes: --write renews them,
--check changes nothing, names what is stale and exits 1. Standard library only.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pages():
    """The Markdown files that may hold blocks: the README, the road, the lessons with their side exercises, the list of notebooks, and
    the pages about the code."""
    return [ROOT / "README.md", ROOT / "lessons/README.md", *sorted(ROOT.glob("lessons/[0-9]*/README.md")),
            *sorted(ROOT.glob("lessons/[0-9]*/puzzles/*/README.md")), ROOT / "notebooks/README.md",
            *sorted(ROOT.glob("docs/pages/*.md"))]


def renewed(text, kind, make):
    """`text` with the inside of every block of this kind replaced by make(name), or as it is where that is None."""
    block = re.compile(rf"(<!-- {kind}(?:: (.*?))? -->\n)(.*?)(<!-- /{kind} -->)", re.S)

    def renew(found):
        made = make(found[2])
        return found[0] if made is None else found[1] + made.rstrip("\n") + "\n" + found[4]

    return block.sub(renew, text)


def names(text, kind):
    """The names of the blocks of this kind, in their order."""
    return re.findall(rf"<!-- {kind}: (.*?) -->", text)


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def write_or_check(wanted, description, argv=None):
    """Ends a script: `wanted` maps each path to the text that it should have."""
    parser = argparse.ArgumentParser(description=description)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="renew what is stale")
    mode.add_argument("--check", action="store_true", help="exit 1 if anything is stale")
    write = parser.parse_args(argv).write
    stale = [path for path, text in wanted.items() if read(path) != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'renewed' if write else 'stale'}")
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    if stale and not write:
        print(f"run: python3 docs/{pathlib.Path(sys.argv[0]).name} --write", file=sys.stderr)
    return 1 if stale and not write else 0
