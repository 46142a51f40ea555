"""The notebooks run, are quick, leave cells to the reader, tell wrong answers from right ones, and become pages."""
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "notebooks"), str(ROOT / "docs")]

import execute  # noqa: E402
from execute import FOLDER, NOTEBOOKS, read  # noqa: E402
from notebook_answers import RIGHT, WRONG  # noqa: E402

BUDGET = 180.0  # seconds of processor time, of all of them: a busy machine makes none of them slow
seconds, executed = {}, {}
names = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def turns(notebook):
    return [cell.id.removesuffix("-turn") for cell in notebook.cells if cell.id.endswith("-turn")]


def processor_seconds():
    """Of the kernels that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def test_there_are_eight():
    assert [path.stem.partition("_")[0] for path in NOTEBOOKS] == [str(n) for n in range(1, 9)]


@names
def test_it_is_kept_without_outputs(path):
    notebook = read(path)
    nbformat.validate(notebook)
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n "cells"') and text.endswith("}\n") and not text.endswith("\n\n")
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.execution_count is None and not cell.outputs, cell.id


@names
def test_every_turn_has_a_check_and_answers(path):
    ids = [cell.id for cell in read(path).cells]
    found = turns(read(path))
    assert len(found) >= 2
    for turn in found:
        assert ids[ids.index(f"{turn}-turn") + 1] == f"{turn}-check"
    assert list(RIGHT[path.stem]) == found and list(WRONG[path.stem]) == found


@names
def test_it_runs_and_says_not_yet(path):
    begin = processor_seconds()
    notebook = executed[path] = execute.execute(read(path))
    seconds[path.stem] = processor_seconds() - begin
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        assert not [output for output in cell.outputs if output.get("name") == "stderr"], printed(cell)
        if cell.id.endswith("-check"):
            assert printed(cell).startswith("not yet: ") and printed(cell).count("\n") == 1, printed(cell)


def test_all_are_quick():
    print("\n" + "\n".join(f"{name:16} {spent:5.1f} s" for name, spent in seconds.items()), f"\n{'all':16} {sum(seconds.values()):5.1f} s")
    assert sum(seconds.values()) < BUDGET


@names
def test_it_becomes_a_page(path):
    pytest.importorskip("nbconvert")
    from notebook_pages import page

    text = page(executed[path], NOTEBOOKS.index(path))
    assert "data:image/png;base64," in text and "not yet: " in text and "Traceback (most" not in text
    assert len(text) < 500_000
    assert not re.search(r'(src|href)="(?!data:|\.\./|#|[0-9]_\w+\.html")', text)  # to the site alone
    assert not re.search(r'href="[^"]*\.(md|ipynb)', text)


def test_a_failing_cell_is_named(tmp_path):
    """execute.py in a copy of the folder: a kernel that is gone only after its cells is none that died."""
    (tmp_path / "execute.py").write_text((FOLDER / "execute.py").read_text(encoding="utf-8"), encoding="utf-8")
    for name, source in (("1_good", "1 + 1"), ("2_bad", "1 / 0"), ("3_gone", "import os; os.write(2, b'cause\\n'); os._exit(3)"),
                         ("4_late", "import atexit, os; atexit.register(os.abort); atexit.register(os.write, 2, b'cause\\n')")):
        cells = [nbformat.v4.new_code_cell("print('before')"), nbformat.v4.new_code_cell(source, id="the-cell")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    ran = subprocess.run([sys.executable, tmp_path / "execute.py"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
    good, bad, gone, late = ran.stdout.splitlines()
    assert re.fullmatch(r"1_good +\d+\.\d s  ok", good)
    assert re.fullmatch(r'2_bad +\d+\.\d s  cell "the-cell" fails: ZeroDivisionError: division by zero', bad)
    assert re.fullmatch(r"3_gone +\d+\.\d s  Kernel died: cause", gone)
    assert re.fullmatch(r"4_late +\d+\.\d s  ok", late)


@names
def test_checks_tell_wrong_from_right(path):
    notebook = read(path)
    cells = []
    for cell in notebook.cells:
        turn = cell.id.removesuffix("-check")
        if turn != cell.id:  # first a wrong answer, then the right one: later cells may use it
            cells.append(nbformat.v4.new_code_cell(WRONG[path.stem][turn], id=f"{turn}-wrong"))
            cells.append(nbformat.v4.new_code_cell(cell.source, id=f"{turn}-no"))
            cells.append(nbformat.v4.new_code_cell(RIGHT[path.stem][turn], id=f"{turn}-right"))
            cells.append(nbformat.v4.new_code_cell(cell.source, id=f"{turn}-yes"))
        else:
            cells.append(cell)
    notebook.cells = cells
    said = {cell.id: printed(cell) for cell in execute.execute(notebook).cells if cell.cell_type == "code"}
    for turn in RIGHT[path.stem]:
        assert said[f"{turn}-no"].startswith("not yet: "), said[f"{turn}-no"]
        assert said[f"{turn}-yes"].startswith("right: "), said[f"{turn}-yes"]
