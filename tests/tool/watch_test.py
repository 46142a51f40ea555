#!/usr/bin/env python3
"""watch_test.py TOOL SOURCE CASE: watch mode on a pseudo terminal, as a student meets it.

Each function case_NAME is a test of its own. A session has a workspace of its own and is waited for, never slept
for: expect() reads until the words have come. Exit codes: 0 passed, 1 failed, 4 skipped.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

TOOL, SOURCE = sys.argv[1], Path(sys.argv[2])
PATIENCE = 60  # seconds, for anything that is waited for
KEYS = "q quit"  # the end of every answer


def right(source="attention/merge.cpp"):
    """The library's file, without its marks."""
    lines = (SOURCE / "src/ringcraft" / source).read_text().splitlines(keepends=True)
    return "".join(line for line in lines if "SOLUTION" not in line)


WRONG = right().replace("std::exp(", "std::exp2(")
assert WRONG != right()
# A minute's work for a compiler.
SLOW = """#include <utility>
template <int N> constexpr unsigned f() { unsigned s = 0; for (unsigned i = 0; i < 200000; ++i) s += i ^ N; return s; }
template <int N> constexpr unsigned v = f<N>();
template <int... N> constexpr unsigned all(std::integer_sequence<int, N...>) { return (v<N> ^ ...); }
static_assert(all(std::make_integer_sequence<int, 5000>()) != 1);
"""


class Session:
    """The tool on a terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments, columns=80, lines=24, **environment):
        self.folder = Path(tempfile.mkdtemp())
        self.exercises = self.folder / "exercises"
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.seen, self.all, self.process = "", "", None
        self.environment = dict(os.environ, RINGCRAFT_WORKSPACE=str(self.exercises), TERM="xterm", **environment)
        for name in ("NO_COLOR", "COLUMNS"):
            self.environment.pop(name, None)
        self.arguments = arguments

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
        shutil.rmtree(self.folder)

    def tool(self, *arguments, code=0):
        """A command without a terminal."""
        ran = subprocess.run([TOOL, *arguments], env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(ran.returncode == code, f"{arguments}: exit code {ran.returncode}, expected {code}: {ran.stdout}{ran.stderr}")
        return ran.stdout + ran.stderr

    def start(self, words=KEYS):
        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([TOOL, *self.arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env=self.environment, preexec_fn=own_terminal)
        return self.expect(words)

    def expect(self, words):
        """Reads up to and with these words; returns what came, without colours."""
        end = time.monotonic() + PATIENCE
        while words not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            check(ready, f"waited for {words!r}; the terminal shows:\n{self.all}")
            text = re.sub(r"\x1b\[\d*m", "", os.read(self.master, 65536).decode(errors="replace"))
            self.seen += text.replace("\r\n", "\n")
            self.all += text
        at = self.seen.index(words) + len(words)
        text, self.seen = self.seen[:at], self.seen[at:]
        return text

    def press(self, key, words=KEYS):
        os.write(self.master, key.encode())
        return self.expect(words)

    def file(self, lesson="104_merge", name="merge.cpp"):
        return self.exercises / lesson / name

    def save(self, text, words=KEYS, **where):
        """As an editor saves: another file, then renamed."""
        path = self.file(**where)
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".new").write_text(text)
        (path.parent / ".new").rename(path)
        return self.expect(words) if words else ""

    def end(self):
        """The exit code; the terminal must be as before."""
        code = self.process.wait(PATIENCE)
        check(termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was before")
        return code


def check(condition, sentence):
    if not condition:
        print(f"failed: {sentence}")
        sys.exit(1)


def has(text, *words):
    for each in words:
        check(each in text, f"expected {each!r} in:\n{text}")


def widest(text):
    return max(map(len, text.splitlines()))


def children_of(pid):
    """(pid, name) of everything that a process has started, and of what that has started."""
    all_of_them = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, tail = (folder / "stat").read_text().rsplit(")", 1)
        except OSError:
            continue  # it has ended meanwhile
        all_of_them[int(folder.name)] = (int(tail.split()[1]), head.split("(", 1)[1])
    found = {pid}
    for _ in range(8):
        found |= {child for child, (parent, _) in all_of_them.items() if parent in found}
    return [(child, all_of_them[child][1]) for child in found - {pid}]


def compiler_of(pid):
    """The compiler proper below a check, which its driver starts; waited for."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = children_of(pid)
        if any(name.startswith(("cc1plus", "clang")) for _, name in found):
            return found
        time.sleep(0.01)
    check(False, f"no compiler below {pid}: {found}")


def ends(pid):
    """Whether a process comes to its end within some seconds."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


# ---- cases

def case_alone_on_a_terminal_it_watches():
    with Session() as s:
        has(s.start(), "0 of", "lessons done", "101 Dense attention", "lessons/101_dense_attention/README.md", "press n")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_a_wrong_file_fails_and_a_right_one_passes():
    with Session("watch") as s:
        s.start()
        s.tool("start", "104")
        has(s.expect(KEYS), "Checking 104 ...", "TODO")
        text = s.save(WRONG)
        has(text, "Checking 104 ...", "failed", "hint: ", "points")
        check(len(text.splitlines()) <= 24, f"more than a screen:\n{text}")
        check(widest(text) <= 80, f"wider than the screen:\n{text}")
        has(s.save(right()), "Checking 104 ...", "0 failed", "1 of", "n goes on to 105")
        has((s.exercises / "progress.txt").read_text(), "104 passed ")
        has(s.press("d"), "to the letter")
        check("Checking" not in s.seen, "it moved on by itself")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_a_lesson_goes_from_next_to_pass():
    with Session("watch") as s:
        s.start()
        has(s.press("n"), "101 Dense attention (started)", "exercises/101_dense_attention/dense.cpp")
        check(s.file("101_dense_attention", "dense.cpp").exists(), "n starts the lesson")
        has(s.press("n"), "102 Safe softmax (started)")
        has(s.press("h"), "102 Safe softmax: hint 1 of 3")
        has(s.press("h"), "hint 1 of 3", "hint 2 of 3")
        has(s.press("l"), "one device", "101  started", "303  here")
        has(s.press("d"), "ringcraft: diff: expected a file that has passed")
        has(s.press("a"), "Nothing has been checked yet")
        has(s.press("c"), "Checking 102 ...", "failed")
        has(s.press("a"), "Lesson 102", "skipped")
        has(s.press("?"), "n next")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_a_reset_can_be_undone():
    with Session("watch") as s:
        s.tool("start", "104")
        given = s.file().read_text()
        s.file().write_text(WRONG)
        has(s.start(), "104 Merge (started)")
        has(s.press("r"), "before-reset", "u puts it back")
        check(s.file().read_text() == given, "the file is as it was given")
        check("Checking" not in s.seen, "a reset is no save")
        has(s.press("u"), "back in")
        has(s.expect(KEYS), "Checking 104")  # what is back is checked
        check(s.file().read_text() == WRONG, "the text is back")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_a_second_save_calls_the_first_check_off():
    with Session("watch") as s:
        s.tool("start", "104")
        s.start()
        s.save(SLOW, "Checking 104 ...")
        compiler = compiler_of(s.process.pid)
        s.save(right(), "saved again")
        has(s.expect(KEYS), "Checking 104 ...", "0 failed")
        for pid, name in compiler:
            check(ends(pid), f"{name} goes on after the check was called off")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_signals_restore_the_terminal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV):
        with Session("watch") as s:
            s.start()
            check(termios.tcgetattr(s.slave) != s.before, "keys come one by one while it watches")
            s.process.send_signal(number)
            check(s.end() == -number, f"{number!r} ends it by itself")


def case_control_c_during_a_check_ends_everything():
    with Session("watch") as s:
        s.tool("start", "104")
        s.start()
        s.save(SLOW, "Checking 104 ...")
        compiler = compiler_of(s.process.pid)
        os.write(s.master, b"\x03")
        check(s.end() == -signal.SIGINT, "Ctrl-C ends it")
        for pid, name in compiler:
            check(ends(pid), f"{name} goes on after Ctrl-C")


def case_control_c_ends_the_compiler_of_a_plain_check():
    with Session("check", "104") as s:
        s.tool("start", "104")
        s.file().write_text(SLOW)
        s.start(words="")
        compiler = compiler_of(s.process.pid)
        os.write(s.master, b"\x03")
        check(s.end() == -signal.SIGINT, "Ctrl-C ends it")
        for pid, name in compiler:
            check(ends(pid), f"{name} goes on after Ctrl-C")


def case_suspended_it_gives_the_terminal_back():
    # Under a shell with job control, which continues it.
    with Session("watch") as s:
        s.start()
        os.write(s.master, b"\x1a")
        end = time.monotonic() + PATIENCE
        # Its group is orphaned here, so the kernel does not stop it: it must go on as before.
        has(s.press("?"), "n next")
        check(time.monotonic() < end, "it goes on")
        os.kill(s.process.pid, signal.SIGSTOP)
        termios.tcsetattr(s.slave, termios.TCSANOW, s.before)  # a shell puts its own modes in place
        os.kill(s.process.pid, signal.SIGCONT)
        s.expect(KEYS)
        check(termios.tcgetattr(s.slave) != s.before, "keys come one by one again")
        has(s.press("h"), "hint 1 of 3")
        s.press("q", "")
        check(s.end() == 0, "q ends with 0")


def case_the_end_of_the_terminal_ends_it():
    with Session("watch") as s:
        s.start()
        os.write(s.master, b"\x04")
        check(s.end() == 0, "Ctrl-D quits")


def case_it_polls_where_the_kernel_does_not_tell():
    with Session("watch", RINGCRAFT_POLLING="1") as s:
        s.tool("start", "104")
        s.start()
        has(s.save(WRONG), "Checking 104 ...", "failed")
        has(s.save(right()), "Checking 104 ...", "0 failed")


def case_a_narrow_dumb_terminal_shows_plain_lines():
    with Session("watch", columns=50, lines=24) as s:
        s.environment["TERM"] = "dumb"
        s.tool("start", "104")
        s.start()
        text = s.save(WRONG)
        check(widest(text) <= 50, f"wider than the screen:\n{text}")
        check("\x1b" not in s.all, "it sends escape sequences to a dumb terminal")
        check(widest(s.press("h")) <= 50, "hints are wider than the screen")


def case_warnings_are_shown_and_not_fatal():
    with Session("watch") as s:
        s.tool("start", "104")
        s.start()
        text = s.save(right().replace("namespace ringcraft {", "namespace ringcraft {\nstatic int surplus() { return 1; }", 1))
        has(text, "with warnings", "surplus", "0 failed")


def case_without_a_terminal_it_is_refused():
    with Session("watch") as s:
        has(s.tool("watch", code=2), "watch needs a terminal")
        has(s.tool(code=2), "say what to do", "--help")


def case_the_commands_tell_what_is_next():
    with Session() as s:
        has(s.tool("hint", code=2), "no exercise is started")
        has(s.tool("lessons"), "0 of", "Next: 101 Dense attention (./ringcraft next)")
        has(s.tool("next"), "101 Dense attention", "lessons/101_dense_attention/README.md", "./ringcraft check 101")
        has(s.tool("next"), "101 Dense attention (started)")  # a second time: the same lesson, the file untouched
        s.tool("start", "104")
        has(s.tool("hint"), "104 Merge: hint 1 of 3")
        s.file().write_text(right())
        has(s.tool("check", "104"), "Next: 101 Dense attention", "./ringcraft check 101")  # that is under way
        has(s.tool("lessons"), "104  done", "1 of")
        s.file("101_dense_attention", "dense.cpp").write_text(right("attention/dense.cpp"))
        has(s.tool("check"), "Lesson 101", "Next: 102")
        has(s.tool("next"), "102 Safe softmax")


if __name__ == "__main__":
    globals()["case_" + sys.argv[3]]()
