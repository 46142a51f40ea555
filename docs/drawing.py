"""Pieces of the SVG figures. Each SVG carries its own colours for light and dark pages; the classes c0 to c3 are ranks or sides."""

STYLE = """<style>
:root{color-scheme:light dark}
text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1c2330;text-anchor:middle}
.small{font-size:12px} .left{text-anchor:start} .right{text-anchor:end} .ink{fill:#14213d} .bold{font-weight:600}
.line{stroke:#6b7686;stroke-width:2;fill:none} .thin{stroke:#6b7686;stroke-width:1;fill:none}
.card{fill:#ffffff;stroke:#6b7686;stroke-width:1.5}
.c0{fill:#8ecae6} .c1{fill:#ffc857} .c2{fill:#9bd08a} .c3{fill:#f4978e}
@media (prefers-color-scheme:dark){text{fill:#dfe5ee}.ink{fill:#14213d}.card{fill:#1c2430}}
</style>"""


def svg(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'style="max-width:{width}px" role="img" aria-label="{title}">\n<title>{title}</title>\n{STYLE}\n' + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, cls=""):
    return f'<text x="{x:g}" y="{y:g}"' + (f' class="{cls}"' if cls else "") + f">{words}</text>"


def box(x, y, width, height, cls, round_=4):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_}" class="{cls}"/>'


def owner_strip(x, y, width, owners):
    """A sequence: a box for each token, with its position, in the colour of its owner (0 to 3)."""
    cell, body = width / len(owners), []
    for p, owner in enumerate(owners):
        body += [box(x + p * cell + 1, y, cell - 2, 26, f"c{owner}"), text(x + (p + 0.5) * cell, y + 18, p, "small ink")]
    return body


def shade(x, y, width, height, cls, opacity):
    """A box whose colour says how much: opacity from 0 to 1."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" class="{cls}" fill-opacity="{opacity:.2f}"/>'


def heat_map(x, y, title, rows, largest, cell=44, cls="c3"):
    """A number in each cell, [step][rank]; the fuller the colour, the nearer to `largest`. An empty cell is work skipped."""
    body = [text(x + len(rows[0]) * cell / 2, y, title, "bold")]
    body += [text(x + (i + 0.5) * cell, y + 20, f"rank {i}", "small") for i in range(len(rows[0]))]
    for t, row in enumerate(rows):
        top = y + 28 + t * 30
        body.append(text(x - 8, top + 19, f"step {t}", "small right"))
        for i, value in enumerate(row):
            body.append(box(x + i * cell + 1, top, cell - 2, 28, "card", 3))
            if value:
                body += [shade(x + i * cell + 1, top, cell - 2, 28, cls, 0.25 + 0.75 * value / largest),
                         text(x + (i + 0.5) * cell, top + 19, value, "small ink")]
    return body


def lane(y, name, spans, cls, unit, left):
    body = [text(left - 10, y + 15, name, "small right")]
    for start, length, label in spans:
        body += [box(left + start * unit + 1, y, length * unit - 2, 21, cls), text(left + (start + length / 2) * unit, y + 15, label, "small ink")]
    return body
