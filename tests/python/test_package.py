"""The installed package: kernels for this processor, types, documentation, the plugin."""
import copy
import doctest
import importlib.metadata
import importlib.util
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import pytest
import ringcraft

HERE = pathlib.Path(ringcraft.__file__).parent


def flags():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return next(line for line in file if line.startswith("flags")).split()


@pytest.mark.parametrize(("without", "processor"), [("", "AVX-512"), ("-AVX512F", "AVX2"), ("-AVX2,-AVX512F", "SSE2")])
def test_kernels_are_chosen_by_the_processor(without, processor):
    needed = {"AVX-512": "avx512f", "AVX2": "avx2", "SSE2": "sse2"}[processor]
    if needed not in flags():
        pytest.skip(f"this processor has no {processor}")
    code = ("import numpy as n, ringcraft as r; q, k, v = n.random.default_rng(0).standard_normal((3, 1, 2, 70, 24));"
            "o = r.attention(q, k, v); w, s = r.oracle(q, k, v);"
            "assert (abs(o - w['out']) <= 1e-12 * s['out']).all(); print(r.processor())")
    said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={without}"},
                          capture_output=True, text=True, check=True).stdout
    assert processor in said


def test_the_version_and_the_types():
    assert importlib.metadata.version("ringcraft") == ringcraft.__version__
    assert (HERE / "py.typed").exists()


def test_examples_in_the_documentation_work():
    assert doctest.testmod(ringcraft).failed == 0


def test_every_public_name_has_documentation():
    for name in ringcraft.__all__:
        documented = getattr(ringcraft, name)
        assert documented.__doc__, name
        assert "->" not in documented.__doc__.splitlines()[-1], name  # a signature is no documentation
        for member, value in vars(documented).items() if isinstance(documented, type) else ():
            if member.startswith("_") or not (callable(value) or isinstance(value, (property, staticmethod))):
                continue
            assert value.__doc__ and "->" not in value.__doc__.splitlines()[-1], f"{name}.{member}"


def test_objects_that_outlive_the_interpreter_are_no_leak_of_ours():
    code = ("import ctypes, ringcraft; case = ringcraft.case_table()[0];"
            "ctypes.pythonapi.Py_IncRef(ctypes.py_object(case))")  # as a graph of another library that nothing clears
    said = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout + said.stderr == ""


def test_types_are_right(tmp_path):
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text("import numpy as np\nimport ringcraft\n"
                   "x = np.zeros((1, 2, 8, 4))\n"
                   "run: ringcraft.Run = ringcraft.attend(x, x, x, ranks=2)\n"
                   "n: int = run.forward.bytes_sent[0]\n"
                   "found: ringcraft.Verification = ringcraft.verify(lambda q, k, v: q)\n"
                   "wrong: str = ringcraft.positions(4, 2)  # type: ignore[assignment]\n")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nwarn_unused_ignores = True\n[mypy-torch.*,jax.*]\nignore_missing_imports = True\n")
    said = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(config), str(use)], capture_output=True,
                          text=True, check=False)
    assert said.returncode == 0, said.stdout


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nwarn_unused_ignores = False\n"
                      "[mypy-torch.*,jax.*,pytest.*]\nignore_missing_imports = True\n")
    shutil.copytree(HERE, tmp_path / "ringcraft")  # mypy says nothing of installed packages
    said = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(config), "ringcraft"],
                          capture_output=True, text=True, check=False, cwd=tmp_path)
    errors = [line for line in said.stdout.splitlines() if ": error:" in line]
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("jax") is None:
        errors = [line for line in errors if not line.startswith(("ringcraft/torch.py", "ringcraft/jax.py"))]
    assert not errors, said.stdout


def test_the_stub_is_that_of_the_module(tmp_path):
    pytest.importorskip("nanobind")
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "ringcraft._core", "-o", str(tmp_path / "core.pyi")],
                   check=True, cwd=tmp_path)
    assert (tmp_path / "core.pyi").read_text() == (HERE / "_core.pyi").read_text()


def test_the_plugin(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import ringcraft\nfrom ringcraft.testing import attention_test\n"
        "def right(q, k, v, causal):\n    return ringcraft.attention(q, k, v, causal=causal)\n"
        "def wrong(q, k, v, causal):\n    return ringcraft.attention(q, k, v, causal=causal, softmax_scale=1.0)\n"
        "test_right = attention_test(right)\ntest_wrong = attention_test(wrong)\n")
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "the softmax scale is missing" in said.stdout and "ringcraft: wrong" in said.stdout
    assert "test_right" not in said.stdout


def test_the_plugin_reports_what_workers_found(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "test_mine.py").write_text(
        "import ringcraft\nfrom ringcraft.testing import attention_test\n"
        "def wrong(q, k, v, causal):\n    return ringcraft.attention(q, k, v, causal=causal, softmax_scale=1.0)\n"
        "test_wrong = attention_test(wrong)\n")
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", str(tmp_path)],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 1
    total = re.search(r"wrong in (\d+) of (\d+) cases; (\d+) of these have one cause", said.stdout)
    assert total is not None and total[1] == total[3] and int(total[1]) > 20 and int(total[2]) == 40, said.stdout
    assert "the softmax scale is missing" in said.stdout.split("ringcraft: wrong")[1]


def test_the_parts_of_a_verdict_are_values():
    for case in ringcraft.case_table(full=True)[::50]:
        for value in (case, case.problem, case.problem.mask):
            again = pickle.loads(pickle.dumps(value))
            assert again == value and hash(again) == hash(value) and repr(again) == repr(value)
            assert copy.copy(value) == value == copy.deepcopy(value) and value != repr(value)
    problem = ringcraft.Problem(12, 2, 8, ranks=3, layout="striped", softmax_scale=0.1)
    assert problem != None and problem.mask != None and not problem == 3  # noqa: E711
    assert problem != ringcraft.Problem(12, 2, 8, ranks=3, layout="zigzag", softmax_scale=0.1)
    assert problem != ringcraft.Problem(12, 2, 8, ranks=3, layout="striped")
    assert ringcraft.Case(problem, "hot", 2) != ringcraft.Case(problem, "hot", 3)
    assert ringcraft.Mask(None, 0, [0, 3, 12]) != ringcraft.Mask(None, 0, [0, 4, 12])
    found = ringcraft.verify(lambda q, k, v: q, ranks=2, simplify=False)
    assert pickle.loads(pickle.dumps(found)) == found and found.wrong


def test_the_plugin_keeps_tests_apart_and_refuses_a_test_of_nothing(tmp_path):
    (tmp_path / "test_two.py").write_text(
        "import ringcraft\nfrom ringcraft.testing import attention_test\n"
        "def scaled(scale):\n    return lambda q, k, v: ringcraft.attention(q, k, v, softmax_scale=scale)\n"
        "test_wrong = attention_test(scaled(1.0))\ntest_right = attention_test(scaled(None))\n")
    (tmp_path / "test_none.py").write_text(
        "from ringcraft.testing import attention_test\n"
        "test_none = attention_test(lambda q, k, v: q, cases=[])\n")
    said = {name: subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / name)],
                                 capture_output=True, text=True, check=False) for name in ("test_two.py", "test_none.py")}
    assert " of 40 cases" in said["test_two.py"].stdout  # the other test has 40, too
    assert said["test_none.py"].returncode != 0 and "cases: expected at least one" in said["test_none.py"].stdout
