"""Executes the notebooks and renders each as one page of the site, images and style inside (docs/notebooks.css).

    build/python-venv/bin/python docs/notebook_pages.py FOLDER
The pages lie in FOLDER, which the target docs puts beside those of Doxygen. A cell that fails ends the script, and so does a
link that leads to no page.
"""
import concurrent.futures
import os
import pathlib
import re
import sys

import marks
from doxygen_markdown import page_id
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

sys.path.insert(0, str(marks.ROOT / "notebooks"))
import execute  # noqa: E402

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
<script>
window.MathJax = {{extensions: ["tex2jax.js", "TeX/AMSmath.js", "TeX/AMSsymbols.js"], jax: ["input/TeX", "output/HTML-CSS"],
  tex2jax: {{inlineMath: [["$", "$"]], displayMath: [["$$", "$$"]]}}}};
</script>
<script async src="../mathjax/MathJax.js"></script>
</head>
<body>
<nav>{navigation}</nav>
<main>
{body}
</main>
<nav>{navigation}</nav>
</body>
</html>
"""


def style():
    """That of the page, and the colours of code for light and for dark pages."""
    light, dark = (HtmlFormatter(style=name, nobackground=True).get_style_defs(".highlight")
                   for name in ("default", "github-dark"))
    return f"{marks.read(marks.ROOT / 'docs/notebooks.css')}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def site_link(match):
    """A link of a notebook, to a file of the repository, as a link of its page."""
    words, target = match.groups()
    if re.match(r"https?://", target):
        return match[0]
    path = (execute.FOLDER / target).resolve()
    if path in execute.NOTEBOOKS:
        return f"[{words}]({path.stem}.html)"
    if path not in marks.pages():
        raise SystemExit(f"notebooks: {target}: no page of the site")
    return f"[{words}](../{page_id(path)}.html)"


def title(notebook):
    return notebook.cells[0].source.split("\n")[0].removeprefix("# ")


def navigation(at):
    """Links to the notebook before this one, to all, and to the next one."""
    links = [f'<a href="../{page_id(execute.FOLDER / "README.md")}.html">Notebooks</a>']
    for index, sign in ((at - 1, "&larr; {}"), (at + 1, "{} &rarr;")):
        if 0 <= index < len(execute.NOTEBOOKS):
            path = execute.NOTEBOOKS[index]
            links.insert(0 if index < at else 2, f'<a href="{path.stem}.html">{sign.format(title(execute.read(path)))}</a>')
    return "\n".join(links)


def page(notebook, at):
    """The page of an executed notebook, which is the one at this place in the list."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", site_link, cell.source)
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True,
                            exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(notebook)
    return PAGE.format(title=title(notebook), style=style(), navigation=navigation(at), body=body)


def executed(path):
    notebook = execute.read(path)
    try:
        return execute.execute(notebook)
    except execute.FAILURES as error:
        raise SystemExit(f"{path.name}: {execute.failure(notebook, error)}") from None


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for at, notebook in enumerate(pool.map(executed, execute.NOTEBOOKS)):
            (folder / f"{execute.NOTEBOOKS[at].stem}.html").write_text(page(notebook, at), encoding="utf-8")


if __name__ == "__main__":
    main()
