"""Doxygen input filter: GitHub Markdown on the way in, Doxygen Markdown on the way out, line for line.

    doxygen_markdown.py [--math mathjax|text] [--notebooks html|ipynb] FILE
                                                        the filter (FILTER_PATTERNS); the site has rendered notebooks, or sources
    doxygen_markdown.py --check                         every page: links that lead nowhere, or to another lesson than they
                                                        name, formulas that GitHub would not see; exits 1 if there are any
Handled outside of code: $..$ and $`..`$, ```math blocks, headings (they get GitHub's anchors), links between pages,
images, bold words that begin or end with code, <details>, and comments, which vanish. Pages are those of marks.pages(); the root's becomes the main page.
"""
import argparse
import pathlib
import re
import sys

import marks

CODE_OR_MATH = re.compile(r"(\$`.+?`\$|`+[^`]+?`+|\$(?=\S)[^$]+?(?<=\S)\$(?!\d))")
BOLD_AT_CODE = re.compile(r"\*\*(`[^`]+`[^*`]*(?:`[^`]+`[^*`]*)*|[^*`]+(?:`[^`]+`[^*`]*)*`[^`]+`)\*\*")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def page_id(page):
    """A README.md goes by its folder, another page by its folder and its own name."""
    path = page.relative_to(marks.ROOT)
    name = path.parent if path.name == "README.md" else path.with_suffix("")
    return "mainpage" if name == pathlib.Path(".") else str(name).replace("/", "_")


def slug(title):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*$]", "", title).strip().lower()).replace(" ", "-")


class Page:
    """Translates one file."""

    def __init__(self, path, mathjax=True, notebooks="ipynb"):
        self.path, self.mathjax, self.notebooks = path.resolve(), mathjax, notebooks
        self.id = page_id(self.path)
        self.fence = None  # the closing line that the open code block waits for
        self.in_math = False
        self.seen, self.subpages, self.problems = {}, set(), []

    def translate(self, text):
        lines = []
        for number, line in enumerate(text.split("\n"), 1):
            self.number = number
            lines.append(self.line(line))
        if self.fence:
            self.problem("a code block does not end")
        return "\n".join(lines)

    def problem(self, what):
        self.problems.append(f"{self.path.relative_to(marks.ROOT)}:{self.number}: {what}")

    def line(self, line):
        stripped = line.strip()
        if self.fence:
            return self.inside_fence(line, stripped)
        opening = re.match(r"(`{3,}|~{3,})(\w*)$", stripped)
        if opening:
            self.fence, self.in_math = opening[1], opening[2] == "math"
            return (r"\f[" if self.mathjax else "```") if self.in_math else line
        if re.fullmatch(r"<!--.*-->", stripped):
            return ""
        if re.fullmatch(r"</?details>|<summary>.*</summary>", stripped):
            return f"@htmlonly[block] {stripped} @endhtmlonly"
        heading = re.match(r"(#{1,6}) (.*)", line)
        if heading:
            return self.heading(heading[1], heading[2])
        return self.inline(line)

    def inside_fence(self, line, stripped):
        if stripped != self.fence:
            return line
        was_math, self.fence, self.in_math = self.in_math, None, False
        return r"\f]" if was_math and self.mathjax else line

    def heading(self, level, title):
        if len(level) == 1:
            return f"# {title} {{#{self.id}}}"
        anchor = slug(title)
        count = self.seen.get(anchor, 0)
        self.seen[anchor] = count + 1
        return f"{level} {self.inline(title)} {{#{self.id}_{anchor}{f'-{count}' if count else ''}}}"

    def inline(self, line):
        parts = CODE_OR_MATH.split(re.sub(r"<!--.*?-->", "", line))
        for i, part in enumerate(parts):
            if i % 2 == 0:
                if "$" in part:
                    self.problem("a $ without its partner on the same line")
            elif part.startswith("$"):
                formula = part.strip("$").strip("`")
                if "$`" not in part and re.search(r"\\[^\w\s]", formula):
                    self.problem(f"GitHub eats the backslash in {part}: write $`..`$")
                parts[i] = rf"\f${formula}\f$" if self.mathjax else f"`{formula}`"
        # Doxygen shows the stars of **`x`**: of bold words that begin or end with code.
        text = BOLD_AT_CODE.sub(r"<b>\1</b>", "".join(parts))
        if re.search(r"\]\((?!\))", re.sub(r"`[^`]*`", "", LINK.sub("", text))):
            self.problem("a link begins on the line before: Doxygen would not see it")
        return LINK.sub(self.link, text)

    def link(self, match):
        image, words, target = match[1], match[2], match[3]
        if re.match(r"https?://|mailto:", target):
            return match[0]
        file, _, anchor = target.partition("#")
        path = (self.path.parent / file).resolve() if file else self.path
        if not path.exists():
            self.problem(f"a link leads nowhere: {target}")
            return words
        if image:
            return f"![{words}]({path.name})"
        named = re.search(r"\blesson (\d{3})$", words)
        if named and named[1] not in str(path.relative_to(marks.ROOT)):
            self.problem(f"a link names lesson {named[1]} and leads to {path.relative_to(marks.ROOT)}")
        if path.suffix == ".ipynb":
            return f'<a href="notebooks/{path.stem}.{self.notebooks}">{words}</a>'
        page = path / "README.md" if path.is_dir() else path
        if page not in marks.pages():
            return words
        name = page_id(page) + (f"_{anchor}" if anchor else "")
        return f'@{self.command(name)} {name} "{words.replace("`", "")}"'

    def command(self, name):
        """An index's first link to one of its pages makes it a subpage, which gives the side bar its order."""
        index = self.path.name == "README.md" and re.fullmatch(r"docs_pages|lessons(_\d{3}_(?!.*_puzzles_).*)?", self.id)
        if not index or name in self.subpages or not name.startswith(self.id + "_"):
            return "ref"
        self.subpages.add(name)
        return "subpage"


def check():
    problems = []
    for path in marks.pages():
        page = Page(path)
        page.translate(marks.read(path))
        problems += page.problems
    print("\n".join(problems) if problems else "every link and every formula of the pages is well formed")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--math", choices=["mathjax", "text"], default="mathjax")
    parser.add_argument("--notebooks", choices=["html", "ipynb"], default="ipynb")
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.check:
        return check()
    sys.stdout.reconfigure(encoding="utf-8")
    page = Page(options.file, options.math == "mathjax", options.notebooks)
    sys.stdout.write(page.translate(options.file.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
