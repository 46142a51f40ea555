"""How fast the kernels are on GPUs: tables of lesson pages, from the records that tests/gpu/verify.sh writes.

`<!-- measured: forward -->` (or backward) takes the times of all rungs of that pass, from the newest record in
docs/measurements/ of every device on which every check held. A record with a failed check, or without a time, gives no table.
    python3 docs/measured.py --write | --check
"""
import json
import re
import sys

import marks
import tables

RECORDS = marks.ROOT / "docs/measurements"
TIME = re.compile(r"time of (\d+ .+), (\d+) tokens, head_dim (\d+), (full|causal)")
NOTHING = ("No record of a GPU lies in `docs/measurements/` so far: `tests/gpu/verify.sh` writes one, and then\n"
           "`python3 docs/measured.py --write` puts a table here.\n")


def newest(folder):
    """The newest good record of each device, by the device's name."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*-kernels-*.json"))]
    return {record["device"]: record for record in sorted(records, key=lambda record: record["date"]) if record["passed"]}


def rows(checks):
    """A line per rung and number of tokens; its cells by (head_dim, mask)."""
    lines = {}
    for check in checks:
        if time := TIME.fullmatch(check["check"]):
            rung, tokens, head_dim, mask = time.groups()
            cell = f"{check['TFLOP/s']:.3g} ({check['ms']:.3g})"
            lines.setdefault((rung, int(tokens)), {})[int(head_dim), mask] = cell
    return lines


def table(record, direction):
    lines = rows((record[f"test_{direction}"] or {"checks": []})["checks"])
    if not lines:
        return ""
    columns = sorted({column for cells in lines.values() for column in cells}, key=lambda c: (c[0], c[1] != "full"))
    head = ["rung", "tokens", *(f"{head_dim}, {mask}" for head_dim, mask in columns)]
    body = [[rung, tokens, *(cells.get(column, "-") for column in columns)] for (rung, tokens), cells in lines.items()]
    return (f"{record['device']}, driver {record['driver']}, nvcc {record['nvcc']}, {record['date'][:10]}; TFLOP/s, and milliseconds in\n"
            f"parentheses, for head_dim and mask:\n\n{tables.table(head, body)}")


def block(direction, folder=RECORDS):
    if direction not in ("forward", "backward"):
        raise SystemExit(f"expected a block measured: forward or backward, got {direction}")
    return "\n".join(filter(None, (table(record, direction) for _, record in sorted(newest(folder).items())))) or NOTHING


def main():
    return marks.write_or_check({page: marks.renewed(marks.read(page), "measured", block) for page in marks.pages()}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
