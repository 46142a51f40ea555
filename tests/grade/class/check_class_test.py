"""Tests check_class.py: results made from the truth are as they should be, and each deviation is a reason.

check_class_test.py WORK_FOLDER
"""

import copy
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MOST = 20.0


def run(*arguments):
    return subprocess.run([sys.executable, "-W", "error", *map(str, arguments)], capture_output=True, text=True, check=False)


def graded(truth):
    """Results of a grader without faults."""

    def attempt(known):
        points = {"all": MOST, "not all": 7.0}.get(known["points"], 0.0)
        rows = [{"id": "row", "status": "failed", "causes": [{"id": cause} for cause in known["causes"]]}]
        return {
            "state": known["state"] or "graded",
            "sentence": "",
            "late": known["late"],
            "report": {"points": points, "rows": rows},
        }

    def result(exercise, attempts):
        judged = [attempt(known) for known in attempts]
        best = max(judged, key=lambda each: each["report"]["points"], default=None)
        points = best["report"]["points"] if best else 0
        return {"exercise": exercise, "state": best["state"] if best else "missing", "points": points, "attempts": judged}

    students = [
        {"key": f"k{at}", "name": each["called"], "results": [result(*item) for item in each["results"].items()]}
        for at, each in enumerate(truth["students"])
        if each["handed_in"]
    ]
    key = {student["name"]: student["key"] for student in students}
    alike = [
        {"exercise": pair["exercise"], "one": key[pair["other"]], "other": key[pair["one"]]} for pair in truth["copies"]
    ]
    return {
        "exercises": [{"id": number, "points": MOST} for number in truth["exercises"]],
        "students": students,
        "alike": alike,
    }


def first(results, truth, kind):
    """The verdict on the first file of this kind, its result, and its student."""
    by_name = {student["name"]: student for student in results["students"]}
    for known in truth["students"]:
        for at, attempts in enumerate(known["results"].values()):
            for tried, each in enumerate(attempts):
                if each["kind"] == kind:
                    result = by_name[known["called"]]["results"][at]
                    return result["attempts"][tried], result, by_name[known["called"]]
    sys.exit(f"the class has no file of kind {kind}")


def set_points(kind, points):
    def change(results, truth):
        first(results, truth, kind)[0]["report"]["points"] = points

    return change


def set_state(kind, state):
    def change(results, truth):
        first(results, truth, kind)[0]["state"] = state

    return change


def other_causes(one_in):
    """Every so many of the causes is another one."""

    def change(results, truth):
        attempts = (each for student in results["students"] for one in student["results"] for each in one["attempts"])
        for attempt in [each for each in attempts if each["report"]["rows"][0]["causes"]][::one_in]:
            attempt["report"]["rows"][0]["causes"] = [{"id": "another"}]

    return change


def lost_student(results, _):
    results["students"].pop()


def lost_attempt(results, truth):
    first(results, truth, "style")[1]["attempts"].pop()


def not_the_best(results, truth):
    first(results, truth, "right")[1]["points"] = 0


def lost_pair(results, _):
    results["alike"].pop()


FAULTS = {
    "points: a right file": set_points("right", MOST - 1),
    "points: a file in another style": set_points("style", 0),
    "points: a misconception": set_points("misconception", MOST),
    "points: a held-out mistake": set_points("held_out", MOST),
    "points: an attack": set_points("attack", MOST),
    "points: a skeleton": set_points("skeleton", 1),
    "points: a copy": set_points("copy", 0),
    "a slip of the pen is a wrong answer": set_state("broken", "graded"),
    "UTF-16 is a wrong answer": set_state("encoded", "graded"),
    "a right file does not compile": set_state("right", "ungradable"),
    "an attack ends the judge": set_state("attack", "unjudged"),
    "one cause in eight is another": other_causes(8),
    "a lost student": lost_student,
    "a lost attempt": lost_attempt,
    "an attempt counts that is not the best": not_the_best,
    "a copy was not found": lost_pair,
}


def main(work):
    work.mkdir(parents=True, exist_ok=True)
    out, results_file = work / "class", work / "results.json"
    truth_file = work / "class.truth.json"
    failures = []

    def check(what, results, expected):
        results_file.write_text(json.dumps(results), encoding="utf-8")
        ran = run(HERE / "check_class.py", results_file, truth_file)
        print(f"{what}: {ran.returncode}", *ran.stdout.splitlines()[-1:])
        if ran.returncode != expected or ran.stderr:
            failures.append(f"{what}: exits {ran.returncode}, and should exit {expected}\n{ran.stdout}{ran.stderr}")

    for form in ("canvas", "moodle", "gradescope", "classroom", "plain"):
        subprocess.run(["rm", "-rf", out], check=True)
        made = run(HERE / "make_class.py", out, "--form", form, "--students", 24)
        if made.returncode != 0:
            sys.exit(made.stderr)
        truth = json.loads(truth_file.read_text(encoding="utf-8"))
        check(form, graded(truth), 0)
    for what, fault in FAULTS.items():
        results = copy.deepcopy(graded(truth))
        fault(results, truth)
        check(what, results, 1)
    results = copy.deepcopy(graded(truth))
    other_causes(20)(results, truth)
    check("one cause in twenty is another", results, 0)
    before = truth_file.read_bytes()
    files = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    subprocess.run(["rm", "-rf", out], check=True)
    run(HERE / "make_class.py", out, "--students", 24)
    again = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    if before != truth_file.read_bytes() or files != again:
        failures.append("the same arguments make another class")
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
