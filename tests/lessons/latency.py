#!/usr/bin/env python3
"""From save to verdict: how long a student waits after each change.

For every lesson the library's own file is copied to a scratch folder, a comment of it is edited, and the
judge's verdict is waited for, several times. Printed are, per lesson and over all, seconds (median and 90th
percentile) and the processor seconds of judge, compiler, linker and workers together, which other programs
on the machine change less.

  tests/lessons/latency.py build/native/bin/judge_probe [LESSON ...] [--rounds 5] [--limits]

--limits: exit 1 unless the median over all is at most 1.0 s and the 90th percentile 1.5 s, kernels aside: the
median of each of these is at most 3 s. These limits are meant for two idle cores; without RINGCRAFT_LONG=1 they
are not tried (exit 77). Where kernels do not run on the CPU their lessons are left out.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEDIAN_LIMIT, PERCENTILE_LIMIT, KERNEL_LIMIT = 1.0, 1.5, 3.0  # seconds


def solutions():
    """The library's own file of each lesson, by number, as the lessons declare them."""
    declared = {int(path.parent.name[:3]): json.loads(path.read_text(encoding="utf-8"))
                for path in sorted((ROOT / "lessons").glob("[0-9][0-9][0-9]_*/lesson.json"))}
    return {number: ROOT / lesson["source"] for number, lesson in declared.items() if "source" in lesson}


def percentile(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def save_to_verdict(probe, lesson, file, text, round_number):
    """Saves the file with another comment; returns (seconds, processor seconds) until the verdict."""
    before, start = processor_seconds(), time.monotonic()
    file.write_text(f"// edited: {round_number}\n{text}")
    done = subprocess.run([probe, str(lesson), str(file)], capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"lesson {lesson}: the library's own file did not pass:\n{done.stdout}{done.stderr}")
    return seconds, processor_seconds() - before


def runs_kernels(probe, lesson, source):
    """Whether this build judges kernels: if not, the judge names the package that is missing."""
    done = subprocess.run([probe, str(lesson), str(source)], capture_output=True, text=True)
    return "libboost-context-dev" not in done.stderr


def line_of(name, times):
    seconds, processor = zip(*times)
    return (f"{name:>6}  {statistics.median(seconds):6.2f}  {percentile(seconds, 90):6.2f}  "
            f"{statistics.median(processor):9.2f}")


def main():
    parser = argparse.ArgumentParser(description="From save to verdict, lesson by lesson.")
    parser.add_argument("probe", help="the program judge_probe")
    parser.add_argument("lessons", nargs="*", type=int, help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="edits per lesson")
    parser.add_argument("--limits", action="store_true", help="fail beyond the limits")
    options = parser.parse_args()
    if options.limits and os.environ.get("RINGCRAFT_LONG") != "1":
        print("not tried: it judges the clock of an idle machine; ask for it with RINGCRAFT_LONG=1")
        sys.exit(77)
    known = solutions()
    if not known:
        sys.exit("no lesson has an exercise: nothing is measured")
    wanted = options.lessons or sorted(known)
    unknown = [lesson for lesson in wanted if lesson not in known]
    if unknown or options.rounds < 1:
        parser.error(f"no lesson {unknown[0]}" if unknown else "--rounds is at least 1")

    print("lesson  median     p90  processor   (seconds)")
    all_times, slow_kernels = [], []
    with tempfile.TemporaryDirectory() as folder:
        for lesson in wanted:
            source = known[lesson]
            file = pathlib.Path(folder) / source.name
            text = source.read_text()
            if source.suffix == ".cu" and not runs_kernels(options.probe, lesson, source):
                print(f"{lesson:>6}  left out: this build runs no kernels on the CPU")
                continue
            save_to_verdict(options.probe, lesson, file, text, 0)  # brings all into the system's cache
            times = [save_to_verdict(options.probe, lesson, file, text, i + 1) for i in range(options.rounds)]
            print(line_of(lesson, times), flush=True)
            if source.suffix != ".cu":
                all_times += times
            elif statistics.median(seconds for seconds, _ in times) > KERNEL_LIMIT:
                slow_kernels.append(str(lesson))
    if options.limits and slow_kernels:
        sys.exit(f"too slow: the median of lesson {', '.join(slow_kernels)} is above {KERNEL_LIMIT} s")
    if not all_times:
        return
    print(line_of("all", all_times))
    seconds = [time_and_processor[0] for time_and_processor in all_times]
    median, high = statistics.median(seconds), percentile(seconds, 90)
    if options.limits and (median > MEDIAN_LIMIT or high > PERCENTILE_LIMIT):
        sys.exit(f"too slow: median {median:.2f} s (limit {MEDIAN_LIMIT}), "
                 f"90th percentile {high:.2f} s (limit {PERCENTILE_LIMIT})")


if __name__ == "__main__":
    main()
