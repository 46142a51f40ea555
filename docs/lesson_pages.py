"""The parts of a lesson's page that stand in its folder: page.py and the output of its demo.

lessons/NNN_name/page.py defines
    COMPUTED   name -> function that returns Markdown, for `<!-- computed: name -->` in the README beside it
    FIGURES    name -> function that returns an SVG, for docs/figures/name.svg; a name may have a folder: masks/name
It may import the modules of this folder (tables, drawing, layouts, lesson_pages).
"""
import importlib.util
import sys

import marks
import road


def folders():
    """The folders of the lessons that are here, by number."""
    return [marks.ROOT / "lessons" / lesson["folder"] for lesson in road.lessons() if "source" in lesson]


def modules():
    """The page.py of every lesson that has one."""
    sys.dont_write_bytecode = True
    loaded = []
    for folder in folders():
        path = folder / "page.py"
        if not path.exists():
            continue
        spec = importlib.util.spec_from_file_location(f"page_{folder.name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        loaded.append(module)
    return loaded


def demo(page_file):
    """The output of the demo beside this page.py (pass __file__). A test holds it to what the library computes."""
    path = marks.pathlib.Path(page_file).with_name("demo.txt")
    if not path.exists():
        raise SystemExit(f"{path}: expected the demo's output, got no such file")
    return path.read_text(encoding="utf-8")


def rows(text, title):
    """The lines below the line `title` up to the next empty line, each as its words; numbers as numbers."""
    lines = text.split("\n")
    if title not in lines:
        raise SystemExit(f"demo output: expected a line '{title}'")
    result = []
    for line in lines[lines.index(title) + 1:]:
        if not line.strip():
            break
        result.append([value(word) for word in line.split()])
    return result


def value(word):
    """A word as int or float if it is one."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word
