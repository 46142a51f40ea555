"""The order in which to read the sources: docs/pages/reading.md names every file of src/ and kernels/, once.

`<!-- files: src/ringcraft/core: error.hpp types.hpp ... -->` ... `<!-- /files -->` holds a table of these files, each with the
first sentence of its own header comment. A file that no block names, and a name without a file, end the script.
    python3 docs/reading.py --write | --check
"""
import re
import sys

import marks

PAGE = marks.ROOT / "docs/pages/reading.md"
TREES = ("src", "kernels")
BUILD_FILES = {"CMakeLists.txt"}  # they say what is built, and are read beside their folder


def sources():
    """Every file to read, relative to the root."""
    return {str(path.relative_to(marks.ROOT)) for tree in TREES for path in (marks.ROOT / tree).rglob("*")
            if path.is_file() and path.name not in BUILD_FILES and not path.name.startswith(".")}


def first_sentence(path):
    """The first sentence of a file's header comment."""
    with_hash = path.suffix in (".sh", ".cmake", ".schedule") or path.name.endswith(".cmake.in")
    comment = r"#(?!!)\s?(.*)" if with_hash else r"///?\s?(.*)"
    words = []
    for line in marks.read(path).split("\n"):
        if line.startswith(("#!", "#pragma once")) or line.strip() == "/// @file":
            continue
        found = re.match(comment, line)
        if not found or not found[1].strip():
            break
        words.append(found[1].strip())
    sentence = re.match(r".*?[.?](?= |$)", " ".join(words))
    if not sentence:
        raise SystemExit(f"{path.relative_to(marks.ROOT)}: expected a header comment with a sentence")
    return sentence[0].replace("|", "\\|").replace("<T>", "&lt;T&gt;").replace("<preset>", "&lt;preset&gt;")


def table(block):
    folder, _, names = block.partition(": ")
    rows = {}  # stem -> files; a header and its source are one row
    for name in names.split():
        rows.setdefault(re.sub(r"\.\w+$", "", name), []).append(name)
    lines = [f"| `{folder}` | what it is |", "|---|---|"]
    for files in rows.values():
        for name in files:
            if not (marks.ROOT / folder / name).is_file():
                raise SystemExit(f"docs/pages/reading.md: {folder}/{name}: no such file; take its name out of the page")
        links = " ".join(f"[`{name}`](../../{folder}/{name})" for name in files)
        lines.append(f"| {links} | {first_sentence(marks.ROOT / folder / files[0])} |")
    return "\n".join(lines) + "\n"


def named(text):
    """Every file that the page names, in its order."""
    blocks = (block.partition(": ") for block in marks.names(text, "files"))
    return [f"{folder}/{name}" for folder, _, names in blocks for name in names.split()]


def main():
    text = marks.read(PAGE)
    files, expected = named(text), sources()
    wrong = [f"{name}: not in the reading order; put it into a block of its folder" for name in sorted(expected - set(files))]
    wrong += [f"{name}: named, and there is no such file" for name in sorted(set(files) - expected)]
    wrong += [f"{name}: named twice" for name in sorted({name for name in files if files.count(name) > 1})]
    if wrong:
        raise SystemExit("docs/pages/reading.md:\n" + "\n".join(wrong))
    return marks.write_or_check({PAGE: marks.renewed(text, "files", table)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
