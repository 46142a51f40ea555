"""Holds the house to its plan. In src/verify, src/judge and src/tool: at most 12 rooms, includes without a circle, none of a
house above. Everywhere below src, kernels, docs and tests: no folder of more than 25 files but those of the corpus.
    rooms.py SOURCE_ROOT"""

import re
import sys
from pathlib import Path

HOUSES = ("verify", "judge", "tool")  # each above the one before it
MOST_ROOMS = 12
MOST_FILES = 25
CORPUS = ("tests/misconceptions", "tests/attacks")


def room_of(path):
    """ "judge/build" of judge/build/gate/source.cpp; a file of the house's own is in the house."""
    return "/".join(path.parts[:2]) if len(path.parts) > 2 else path.parts[0]


def includes(src, house):
    """Each file of the house, and what it includes."""
    for file in sorted((src / house).rglob("*.[ch]pp")):
        yield file, re.findall(r'^#include "([^"]+)"', file.read_text(), re.M)


def climbs(src, house):
    """Files of the house that include one of a house above."""
    above = HOUSES[HOUSES.index(house) + 1 :]
    return [
        f"{file.relative_to(src)} includes {target}: src/{house} lies below it"
        for file, targets in includes(src, house)
        for target in targets
        if target.split("/")[0] in above
    ]


def arrows(src, house):
    """Room -> rooms of the house whose files its own include."""
    result = {}
    for file, targets in includes(src, house):
        here = room_of(file.relative_to(src))
        result.setdefault(here, set())
        for target in targets:
            there = room_of(Path(target))
            if target.startswith(house + "/") and there != here:
                if not (src / target).is_file():
                    raise SystemExit(f"{file}: includes {target}, and there is no such file")
                result[here].add(there)
    return result


def circle(graph):
    """Some rooms that lead back to the first, or none."""
    done = set()

    def walk(room, way):
        if room in way:
            return way[way.index(room) :] + [room]
        if room in done:
            return None
        for next_room in sorted(graph.get(room, ())):
            if found := walk(next_room, way + [room]):
                return found
        done.add(room)
        return None

    return next(filter(None, (walk(room, []) for room in sorted(graph))), None)


def main():
    root = Path(sys.argv[1])
    findings = []
    for house in HOUSES:
        rooms = [path for path in (root / "src" / house).iterdir() if path.is_dir()]
        if len(rooms) > MOST_ROOMS:
            findings.append(f"src/{house}: {len(rooms)} rooms, and at most {MOST_ROOMS} are to be")
        if found := circle(arrows(root / "src", house)):
            findings.append("includes in a circle: " + " -> ".join(found))
        findings += climbs(root / "src", house)
    folders = [path for top in ("src", "kernels", "docs", "tests") for path in (root / top).rglob("*") if path.is_dir()]
    for folder in folders:
        name = folder.relative_to(root).as_posix()
        if name.startswith(CORPUS) or "__pycache__" in name:
            continue
        files = sum(path.is_file() for path in folder.iterdir())
        if files > MOST_FILES:
            findings.append(f"{name}: {files} files, and at most {MOST_FILES} are to be; give some of them a folder")
    print("\n".join(findings) or f"{len(folders)} folders and {len(HOUSES)} houses are as they should be")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
