"""A ring that others published, and what ringcraft.verify must say of it, as it is and after changes."""
import contextlib
import importlib.metadata
import inspect
import textwrap
from dataclasses import dataclass, field

from ringcraft._cases import typical

from programs import patched

RANKS = 3
ALL, SOME = 40, 8  # cases that show that a ring is right, and that it is wrong
AS_PUBLISHED = "as published"


@dataclass
class Question:
    package: str      # on PyPI
    name: str
    ring: object      # a function that verify takes
    options: dict     # of verify
    cause: str | None = None  # as published: None if it is right, "" if any cause will do, else the id of one
    most: int = ALL           # cases as published, and after what should mend it
    changes: dict = field(default_factory=dict)  # by name: patches (owner, name, replacement), and the cause then


def edited(function, old, new):
    """The function with other words in its source, which must occur in it: a change where no name can be patched."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    if old not in source:
        raise ValueError(f"{function.__qualname__}: expected {old!r} in its source; this version has other words there")
    made = {}
    exec(source.replace(old, new), inspect.unwrap(function).__globals__, made)
    return made[function.__name__]


def told(question, what, wanted, found):
    """A row of the table, and whether the verdict is what it must be."""
    named = found.cause.id if found.cause else ""
    good = found.right if wanted is None else bool(found.wrong) and wanted in ("", named)
    return {"ring": f"{question.package} {importlib.metadata.version(question.package)}", "name": question.name,
            "type": question.options.get("dtype", "float32"), "what": what, "wrong": len(found.wrong),
            "cases": len(found.verdicts), "cause": named, "sentence": found.cause.sentence if found.cause else "",
            "good": good, "verdict": "" if good else f"\n{found}"}


def verdicts(question, examination, verify):
    """Rows for a ring as published, and after each change."""
    cases, _ = examination(question.ring, **question.options)
    for what, (patches, wanted) in {AS_PUBLISHED: ((), question.cause), **question.changes}.items():
        chosen = typical(cases, question.most if what == AS_PUBLISHED or wanted is None else SOME)
        with contextlib.ExitStack() as planted:
            for patch in patches:
                planted.enter_context(patched(*patch))
            yield told(question, what, wanted, verify(question.ring, simplify=False, cases=chosen, **question.options))
