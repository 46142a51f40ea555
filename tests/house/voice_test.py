#!/usr/bin/env python3
"""The lint of voice finds each habit wherever people read it, names its line, and leaves code and quotations alone."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs"))
import voice  # noqa: E402

PLANTED = {
    "behind": "Zeros behind the last row.",
    "in place of": "Sums in place of maxima; in the place of a mean.",
    "in vain": "The rank waits in vain.",
    "for ever": "The rank waits for ever.",
    "is counted why": "At the end it is counted why each run failed.",
    "a person for a program": "Ends when the reader is gone.",
    "road begins": "This stage is where the road begins.",
    "without a word": "An exception without a word.",
    "one key late": "The mask is one key late.",
    "thousand million": "Ten thousand million scores.",
    "stands still": "From 256 on the sum stands still.",
    "whoever": "This is for whoever asks.",
    "come so far": "A sum that has come so far stops.",
    voice.OPENING: "What a ring sends, and when.",
}


class Found(unittest.TestCase):
    def check(self, name, text):
        """(exit, output) for one file with this text."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            path = pathlib.Path(folder) / name
            path.write_text(text, encoding="utf-8")
            return voice.check([path]), said.getvalue()

    def finds(self, habit, name, text, line):
        count, said = self.check(name, text)
        self.assertEqual(count, 1, f"{habit}: {text!r}: {said}")
        self.assertIn(f"{name}:{line}: {habit}: write ", said)

    def is_clean(self, name, text):
        count, said = self.check(name, text)
        self.assertEqual(count, 0, f"{text!r}: {said}")

    def test_every_habit_is_planted(self):
        self.assertEqual(set(PLANTED), {habit for habit, _, _ in voice.EVERYWHERE} | {voice.OPENING})

    def test_each_habit_is_found_in_each_kind_of_text(self):
        for habit, sentence in PLANTED.items():
            with self.subTest(habit):
                first = sentence.split()[0]
                broken = sentence.replace(" ", "\n// ")
                self.assertGreaterEqual(self.check("x.cpp", f"// {broken}\n")[0], 1, "broken over lines")
                for name, text, line in [
                    ("x.cpp", f"int x;\n// {sentence}\n", 2), ("x.hpp", f"#pragma once\n/// @file\n/// {sentence}\n", 3),
                    ("x.cu", f"int x;\n/* {sentence} */\n", 2), ("x.hpp", f"int x;  ///< {sentence}\n", 1),
                    ("x.cpp", f'throw Error("{sentence}");\n', 1), ("x.cpp", f'TEST_CASE("{sentence}") {{}}\n', 1),
                    ("x.cpp", f'say("{first} "\n    "{sentence[len(first) + 1:]}");\n', None),
                    ("x.py", f"x = 1\n# {sentence}\n", 2), ("x.py", f'"""{sentence}"""\n', 1),
                    ("x.py", f"raise ValueError('{sentence}')\n", 1), ("x.sh", f"x=1\n# {sentence}\n", 2),
                    ("x.sh", f'echo "{sentence}"\n', 1), ("CMakeLists.txt", f"# {sentence}\n", 1),
                    ("page.md", f"# Title\n\n{sentence}\n", 3), ("page.md", f"| a | {sentence} |\n", 1),
                    ("x.edit", f"// CM1: {sentence}\n@@\n-x\n", 1),
                ]:
                    count, said = self.check(name, text)
                    self.assertGreaterEqual(count, 1, f"{text!r}: {said}")
                    self.assertIn(f"{habit}: write ", said)
                    if line is not None:
                        self.assertIn(f"{name}:{line}: ", said)

    def test_openings(self):
        for text in ("// Who does what: a thread takes a row.\n", "// A list. What follows is read once.\n",
                     "// Lesson 301: what an exchange must do.\n",
                     'TEST_CASE("what a rank sends arrives") {}\n', 'TEST_CASE("104: what a rank sends arrives") {}\n'):
            self.finds(voice.OPENING, "x.cpp", text, 1)
        for text in ("// What is -inf - (-inf)?\n", "// See what follows. Says what it is.\n", 'say("What is left of the row?");\n',
                     'say("What is left "\n    "of the row?");\n', "/// @param x what it is\n", "// The C++ library knows Whatever.\n"):
            self.is_clean("x.cpp", text)

    def test_a_head_of_one_phrase(self):
        self.finds(voice.HEAD, "x.cpp", '// Lists of lessons (see x.hpp).\n#include "x.hpp"\n', 1)
        self.finds(voice.HEAD, "x.cu", "// Lists of lessons, numbered, with titles\n// (see house/x.hpp).\n", 1)
        self.is_clean("x.cpp", "// Lists of lessons.\n")
        self.is_clean("x.cpp", "// Lists of lessons (see x.hpp). A lesson to come has no number.\n")
        self.is_clean("x.cpp", "int x;\n// Lists of lessons (see x.hpp).\n")

    def test_code_and_quotations_are_left_alone(self):
        self.is_clean("x.cpp", '#include "behind/x.hpp"\nint behind = 1;  // prints `one key late`\n')
        self.is_clean("page.md", "~~~text\nzeros behind it\n~~~\n\n> zeros behind it\n\nThe tool says `zeros behind it`.\n")
        self.is_clean("page.md", "<!-- source: x.cpp -->\nzeros behind it\n<!-- /source -->\n")
        self.is_clean("x.edit", "// CM1: adds one.\n@@\n-  int behind;\n")
        self.is_clean("x.txt", "zeros behind it\n")

    def test_exit_status_and_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder) / "good.py", pathlib.Path(folder) / "bad.py"
            good.write_text("# Zeros after it.\n", encoding="utf-8")
            bad.write_text("# Zeros behind it.\n", encoding="utf-8")
            for paths, status in (([good], 0), ([bad], 1), ([good, bad], 1), ([folder], 1)):
                ended = subprocess.run([sys.executable, ROOT / "docs/voice.py", "--check", *paths], capture_output=True, text=True)
                self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
