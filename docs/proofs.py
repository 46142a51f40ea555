"""Every test case that a page names exists.

A proof is a link whose words are the name of a test case and whose target is the file with that case:
    [`a window needs as many hops as it is blocks wide`](../../tests/problem/golden_test.cpp)
    python3 docs/proofs.py --check
Exits 1 and names what is missing. On docs/pages/write_ups.md every row of a table must have a proof, and every test case of
tests/write_ups a row.
"""
import argparse
import re
import sys

import marks

PROOF = re.compile(r"\[`([^`]+)`\]\(([^)\s]*tests/[^)\s]+\.cpp)\)")
CASE = re.compile(r'(?:TEST_CASE|TEMPLATE_TEST_CASE)\(\s*"((?:[^"\\]|\\.)*)"')
PROVED_PAGE = "write_ups.md"


def cases(path):
    """Names of the test cases of a file; a name may be broken over lines."""
    text = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
    return set(CASE.findall(text))


def complaints(page):
    text, where = marks.read(page), page.relative_to(marks.ROOT)
    found = []
    for name, target in PROOF.findall(text):
        path = (page.parent / target).resolve()
        if not path.is_file():
            found.append(f"{where}: {target}: no such file")
        elif "/tests/misconceptions/" not in str(path) and name not in cases(path):
            found.append(f"{where}: {target} has no test case \"{name}\"")
    if page.name == PROVED_PAGE:
        rows = [line for line in text.split("\n") if line.startswith("| ") and not re.match(r"\| (what|---)", line)]
        found += [f"{where}: a row without a proof: {row}" for row in rows if not PROOF.search(row)]
        if not rows:
            found.append(f"{where}: expected rows with proofs")
        named = {name for name, _ in PROOF.findall(text)}
        own = {name for path in (marks.ROOT / "tests/write_ups").glob("*.cpp") for name in cases(path)}
        found += [f"{where}: tests/write_ups proves what no row names: {name}" for name in sorted(own - named)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", required=True)
    parser.parse_args()
    found = [line for page in marks.pages() for line in complaints(page)]
    print("\n".join(found) if found else "every test case that a page names exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
