"""Rings that others wrote, as published and with mistakes planted in them (tests/foreign/from_python.py)."""
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ring_flash_attn")
pytest.importorskip("ring_attention_pytorch")
pytest.importorskip("jax")


def test_others_rings_are_judged_as_they_must_be():
    program = Path(__file__).resolve().parents[1] / "foreign" / "from_python.py"
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    print(said.stdout)
    assert said.returncode == 0, said.stdout + said.stderr
