"""Computes the worked tables of the lessons and writes them between `<!-- computed: NAME -->` and `<!-- /computed -->`.

The tables of a lesson are the functions that its page.py lists in COMPUTED: from the formula, from what the lesson's
demo has printed, or by simulating a mistake. Every figure is computed when this script runs.
    python3 docs/worked.py --write | --check
"""
import sys

import lesson_pages
import marks


def main():
    wanted = {}
    blocks = {module.__file__: module.COMPUTED for module in lesson_pages.modules()}
    for page in marks.pages():
        own = blocks.get(str(page.parent / "page.py"), {})
        text = marks.read(page)
        used = marks.names(text, "computed")
        for name in used:
            if name not in own:
                raise SystemExit(f"{page.relative_to(marks.ROOT)}: computed: {name}: expected one of {', '.join(own)}")
        for name in own:
            if name not in used:
                raise SystemExit(f"{page.relative_to(marks.ROOT)}: page.py computes {name}, and the page does not show it")
        wanted[page] = marks.renewed(text, "computed", lambda name, own=own: own[name]())
    return marks.write_or_check(wanted, __doc__)


if __name__ == "__main__":
    sys.exit(main())
