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


def lane(y, name, spans, cls, unit, left):
    body = [text(left - 10, y + 15, name, "small right")]
    for start, length, label in spans:
        body += [box(left + start * unit + 1, y, length * unit - 2, 21, cls), text(left + (start + length / 2) * unit, y + 15, label, "small ink")]
    return body
