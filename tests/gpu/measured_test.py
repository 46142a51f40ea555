#!/usr/bin/env python3
"""Records of GPUs become tables: the newest good one of each device, with the figures that it holds and no other."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
import measured  # noqa: E402


def time_of(rung, tokens, head_dim, mask, ms, rate):
    return {"check": f"time of {rung}, {tokens} tokens, head_dim {head_dim}, {mask}", "passed": True, "ms": ms,
            "ms with L2 flushed": 2 * ms, "TFLOP/s": rate}


def record(date, device="GPU A", passed=True, rate=100.0):
    forward = [{"check": "refusals, 1 naive", "passed": True}, time_of("1 naive", 2048, 64, "full", 3.21, rate),
               time_of("5 pipeline", 8192, 64, "full", 0.5, 4 * rate), time_of("5 pipeline", 8192, 128, "causal", 0.25, 5 * rate)]
    return {"date": date, "device": device, "driver": "1.2", "nvcc": "12.4", "passed": passed,
            "test_forward": {"device": device, "checks": forward}, "test_backward": None}


class Tables(unittest.TestCase):
    def block(self, direction, *records):
        with tempfile.TemporaryDirectory() as folder:
            for number, each in enumerate(records):
                (pathlib.Path(folder) / f"{number}-kernels-x.json").write_text(json.dumps(each), encoding="utf-8")
            return measured.block(direction, pathlib.Path(folder))

    def test_without_a_record_the_page_says_so(self):
        self.assertEqual(self.block("forward"), measured.NOTHING)
        self.assertEqual(self.block("forward", record("2030-01-01", passed=False)), measured.NOTHING)
        self.assertEqual(self.block("backward", record("2030-01-01")), measured.NOTHING)

    def test_every_figure_stands_in_its_column(self):
        lines = self.block("forward", record("2030-01-01T10:00:00Z")).splitlines()
        self.assertIn("GPU A, driver 1.2, nvcc 12.4, 2030-01-01;", lines[0])
        self.assertEqual(lines[3:], ["| rung | tokens | 64, full | 128, causal |", "| --- | --- | --- | --- |",
                                     "| 1 naive | 2048 | 100 (3.21) | - |", "| 5 pipeline | 8192 | 400 (0.5) | 500 (0.25) |"])

    def test_the_newest_good_record_of_each_device_counts(self):
        text = self.block("forward", record("2030-03-01", rate=300), record("2030-02-01", rate=200),
                          record("2030-04-01", rate=400, passed=False), record("2030-01-01", device="GPU B", rate=7))
        self.assertIn("| 300 (3.21) |", text)
        self.assertNotIn("| 200 (3.21) |", text)
        self.assertNotIn("| 400 (3.21) |", text)
        self.assertLess(text.index("GPU A"), text.index("GPU B"))
        self.assertIn("| 7 (3.21) |", text)


if __name__ == "__main__":
    unittest.main()
