"""Compares a graded class with what make_class.py says was handed in.

    check_class.py RESULTS.json OUT.truth.json

RESULTS.json is what `grade` writes about the class. Right files have all points, wrong ones not all and their cause is
named, hostile ones no more than they may earn; what does not compile is ungradable; the best attempt counts; copies are
found. Prints a table, then the reasons; exits 1 if there are any. A few causes depend on the seed (the corpus has its
own): those alone are no failure as long as nine in ten are named.
"""

import collections
import itertools
import json
import pathlib
import sys

CAUSE = "cause named"


def causes_of(attempt):
    return {cause["id"] for row in attempt["report"]["rows"] for cause in row["causes"]}


def about_attempt(truth, attempt, most):
    """Reasons why the verdict on one file is not as its truth."""
    points = attempt["report"]["points"]
    if attempt["state"] == "unjudged":
        yield f"was not judged: {attempt['sentence']}"
    if truth["state"] and attempt["state"] != truth["state"]:
        yield f"is {attempt['state']}, and should be {truth['state']}: {attempt['sentence']}"
    if truth["late"] != attempt["late"]:
        yield "is late" if truth["late"] else "is not late"
    if truth["points"] == "all":
        if points != most:
            failed = [row["id"] for row in attempt["report"]["rows"] if row["status"] != "passed"]
            yield f"has {points} of {most} points: {', '.join(failed)}"
    elif truth["points"] == "not all":
        if points >= most:
            yield f"has all {most} points"
    elif points > float(truth["points"]):
        yield f"has {points} points, and may have {truth['points']}"


def about_student(truth, student, most):
    """(kind, reason) for each hand-in of a student, and for each cause; an empty reason if it is as it should be."""
    results = {result["exercise"]: result for result in student["results"]}
    for exercise, attempts in truth["results"].items():
        result = results[exercise]
        name = f"{truth['called']!r}, {exercise}"
        if len(attempts) != len(result["attempts"]):
            yield "missing", f"{name}: {len(result['attempts'])} files, and {len(attempts)} were handed in"
            continue
        if not attempts:
            yield "missing", (
                "" if result["state"] == "missing" else f"{name}: is {result['state']}, and nothing was handed in"
            )
        elif result["points"] != max(attempt["report"]["points"] for attempt in result["attempts"]):
            yield attempts[-1]["kind"], f"{name}: {result['points']} points, and another attempt has more"
        for known, attempt in zip(attempts, result["attempts"]):
            reasons = list(about_attempt(known, attempt, most[exercise]))
            file = f"{name}, {known['row']} ({known['kind']} {known['note']})"
            yield known["kind"], f"{file}: {'; '.join(reasons)}" if reasons else ""
            if known["causes"]:
                named = causes_of(attempt)
                right = named & set(known["causes"])
                yield CAUSE, "" if right else f"{file}: has the causes {sorted(named)}, and should have {known['causes']}"


def matched(truth, results):
    """Each student of the truth with one of the results; of several who are called alike, in the order that fits best."""
    most = {exercise["id"]: exercise["points"] for exercise in results["exercises"]}
    known, found = collections.defaultdict(list), collections.defaultdict(list)
    for student in truth["students"]:
        if student["handed_in"] or any(student["called"] == other["name"] for other in results["students"]):
            known[student["called"]].append(student)
    for student in results["students"]:
        found[student["name"]].append(student)
    for called in known | found:
        if len(known[called]) != len(found[called]):
            yield None, None, [
                ("student", f"{called!r}: {len(found[called])} students, and {len(known[called])} have handed in")
            ]
            continue
        fits = []
        for order in itertools.permutations(found[called]):
            about = [list(about_student(one, other, most)) for one, other in zip(known[called], order)]
            fits.append((sum(reason != "" for each in about for _, reason in each), len(fits), order, about))
        _, _, order, about = min(fits)
        yield from zip(known[called], order, about)


def about_copies(truth, results, keys):
    alike = {(pair["exercise"], *sorted((pair["one"], pair["other"]))) for pair in results["alike"]}
    for copy in truth["copies"]:
        pair = [keys.get(copy["one"], "?"), keys.get(copy["other"], "?")]
        found = (copy["exercise"], *sorted(pair)) in alike
        yield "copy found", "" if found else f"{copy['exercise']}: {pair[0]} and {pair[1]} are a copy, and were not found"


def main(results_file, truth_file):
    results, truth = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in (results_file, truth_file))
    judged, keys = [], {}
    for one, other, about in matched(truth, results):
        judged += about
        if one:
            keys[one["called"]] = other["key"]
    judged += about_copies(truth, results, keys)
    counts = collections.Counter(kind for kind, _ in judged)
    wrong = collections.Counter(kind for kind, reason in judged if reason)
    print(f"{'kind':14} {'files':>5} {'as they should be':>18}")
    for kind in sorted(counts):
        print(f"{kind:14} {counts[kind]:5} {counts[kind] - wrong[kind]:18}")
    print(f"{len(results['alike'])} pairs are much alike, {len(truth['copies'])} of them were to be found")
    print(*(reason for _, reason in judged if reason), sep="\n")
    few_causes = 10 * wrong[CAUSE] > counts[CAUSE]
    sys.exit(1 if few_causes or wrong.total() > wrong[CAUSE] else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
