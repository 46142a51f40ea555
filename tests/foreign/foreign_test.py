#!/usr/bin/env python3
"""foreign_test.py TOOL PROGRAM...: what others' attention computes, judged by `verify`; attend: `attend` held against it.

Each case of cases.py is run on its ranks, its tensors are dumped as the page of verify says, and the verdict must be what
the case says. Of every right dump wrong ones are made: a tensor times 1.02, half of it zero, a row its neighbour's, two
heads swapped; none may pass. Prints for every program the largest error of what is right, and the smallest of what is
wrong, in parts of its bound. Exit codes: 0 passed, 1 failed.
"""
import datetime
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "stubs")]
warnings.filterwarnings("ignore")
os.environ["PYTHONWARNINGS"] = "ignore"
sys.dont_write_bytecode = True

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import attend  # noqa: E402
import cases  # noqa: E402
import problem as asked  # noqa: E402
from programs import patched  # noqa: E402


def dump(case, folder, rank, ranks):
    """Runs the case on this rank and writes what comes of it."""
    inputs = case.problem.inputs()
    rows = asked.rows_of(case.layout, case.problem, rank) if ranks > 1 else torch.arange(case.problem.tokens)
    local = {name: tensor[:, rows].contiguous() for name, tensor in inputs.items()}
    if case.fault:
        with patched(*case.fault):
            answers = case.run(case.problem, local)
    else:
        answers = case.run(case.problem, local)
    (folder / "claim").mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.detach().contiguous().clone() for name, tensor in answers.items()},
              folder / "claim" / f"rank{rank}.safetensors")
    if rank == 0:
        save_file(inputs, folder / "inputs.safetensors")


def work(rank, program, folder):
    """One rank of all cases of a program."""
    torch.set_num_threads(1 if rank or cases.PROGRAMS[program][0] > 1 else 2)
    ranks, make = cases.PROGRAMS[program]
    if ranks > 1:
        dist.init_process_group("gloo", store=dist.FileStore(str(folder / "store"), ranks), rank=rank, world_size=ranks,
                                timeout=datetime.timedelta(seconds=60))
    for index, case in enumerate(make()):
        dump(case, folder / str(index), rank, ranks)
    if ranks > 1:
        dist.destroy_process_group()


def layout_flags(case, folder, ranks):
    """How verify is told which rows are where."""
    if ranks == 1:
        return []
    if case.problem.cu_seqlens and case.layout != "contiguous":  # dealt sequence by sequence: positions, in a file
        rows = torch.cat([asked.rows_of(case.layout, case.problem, rank) for rank in range(ranks)])
        (folder / "positions.txt").write_text("".join(f"{row}\n" for row in rows.tolist()))
        return ["--claim-layout", str(folder / "positions.txt")]
    return ["--claim-layout", case.layout]


def verdict(tool, case, folder, claim, ranks):
    """Exit code of verify, its JSON, and what it printed."""
    answer = folder / "verdict.json"
    answer.unlink(missing_ok=True)
    done = subprocess.run([tool, "verify", "--input", folder / "inputs.safetensors", "--claim", claim, "--json", answer,
                           *case.problem.flags(), *layout_flags(case, folder, ranks)], capture_output=True, text=True)
    return done.returncode, json.loads(answer.read_text()) if answer.exists() else {}, done.stdout + done.stderr


def axes(tensor, case, ranks):
    """Which axis of a dump holds the rows, and which the heads: no other axis of a case is as long."""
    rows = list(tensor.shape).index(case.problem.tokens // ranks)
    after = tensor.shape[rows + 1] if rows + 1 < tensor.dim() else 0
    return rows, rows + 1 if after in (case.problem.heads, case.problem.kv_heads) else rows - 1


def tampered(case, folder, ranks):
    """Wrong claims made from a right one: (name, files). Every rank's tensors times 1.02, else those of the last."""
    files = {path.name: load_file(path) for path in sorted((folder / "claim").iterdir())}
    last = list(files)[-1]

    def but(tensor, change, names):
        result = {name: dict(tensors) for name, tensors in files.items()}
        for name in names:
            changed = result[name][tensor].clone()
            change(changed)
            result[name][tensor] = changed
        return result

    def times(x):
        x *= 1.02

    def half(x):
        x.view(-1)[x.numel() // 2:] = 0

    for tensor in files[last]:
        yield f"{tensor} times 1.02", but(tensor, times, files)
        yield f"{tensor} half of it zero", but(tensor, half, [last])
        rows, heads = axes(files[last][tensor], case, ranks)

        def neighbour(x):
            middle = x.shape[rows] // 2
            x.select(rows, middle).copy_(x.select(rows, middle - 1))

        def swapped(x):
            x.copy_(x.roll(1, heads))

        yield f"{tensor} a row its neighbour's", but(tensor, neighbour, [last])
        if files[last][tensor].shape[heads] > 1:
            yield f"{tensor} heads in another order", but(tensor, swapped, [last])


def judge(tool, program, folder):
    """Asks verify about all dumps; the number of verdicts that are not as they must be."""
    ranks, make = cases.PROGRAMS[program]
    faults, right, wrong, counts, named = 0, {}, {}, [0, 0], 0

    def keep(extremes, better, key, share, name):
        if key not in extremes or better(share, extremes[key][0]):
            extremes[key] = share, name

    def complain(case, text, said):
        nonlocal faults
        faults += 1
        print(f"FAILED  {case.name}: {case.problem}: {text}\n{said}")

    for index, case in enumerate(make()):
        here = folder / str(index)
        claim = here / "claim" if ranks > 1 else here / "claim" / "rank0.safetensors"
        code, found, said = verdict(tool, case, here, claim, ranks)
        counts[bool(case.wrong)] += 1
        if code not in (0, 1) or not found:
            complain(case, "not judged", said)
            continue
        bad = {row["id"] for row in found["rows"] if row["status"] == "failed"}
        type_name = str(case.problem.dtype).removeprefix("torch.")
        share = largest_share(found)
        if case.doubtful and bad <= set(case.doubtful):
            print(f"  {type_name:8} {', '.join(case.doubtful)} of {case.name}: {share:.3g} of a bound")
            continue
        if not case.wrong:
            keep(right, lambda a, b: a > b, type_name, share, f"{case.name}: {case.problem}")
            if code != 0:
                complain(case, f"right code is called wrong: {', '.join(sorted(bad))}", said)
                continue
        else:
            keep(wrong, lambda a, b: a < b, type_name, share, f"{case.name}: {case.problem}")
            if code != 1 or (not case.at_least and bad != set(case.wrong)):
                complain(case, f"wrong are {', '.join(case.wrong)}; verify says {', '.join(sorted(bad)) or 'none'}", said)
            if case.cause:
                first = next((cause["id"] for row in found["rows"] for cause in row["causes"]), "none")
                named += first == case.cause
                if first != case.cause:
                    complain(case, f"its cause is {case.cause}; verify names {first}", said)
            continue
        for name, files in tampered(case, here, ranks):
            if case.tampered and name not in case.tampered:
                continue
            changed = here / "changed"
            changed.mkdir(exist_ok=True)
            for file, tensors in files.items():
                save_file(tensors, changed / file)
            code, found, said = verdict(tool, case, here, changed if ranks > 1 else changed / "rank0.safetensors", ranks)
            counts[1] += 1
            if code != 1:
                complain(case, f"{name} passes", said)
            else:
                keep(wrong, lambda a, b: a < b, type_name, largest_share(found), f"{name}, {case.name}: {case.problem}")
    told = f", the cause of {named} named" if named else ""
    print(f"{program}: {counts[0]} right claims, {counts[1]} wrong ones{told}; largest error in parts of its bound:")
    for type_name in right | wrong:
        for word, extremes in (("right, the largest ", right), ("wrong, the smallest", wrong)):
            if type_name in extremes:
                print(f"  {type_name:8} {word} {extremes[type_name][0]:8.3g}  ({extremes[type_name][1]})")
    return faults


def largest_share(found):
    """The largest error in parts of its bound, over all tensors."""
    return max((figure["value"] if figure["value"] is not None else float("inf")
                for row in found["rows"] for figure in row["figures"] if figure["name"] == "largest share of a bound"),
               default=float("nan"))


def main():
    tool, *programs = sys.argv[1:]
    faults = 0
    for program in programs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if program == "attend":
                faults += attend.judge(tool, folder)
                continue
            ranks = cases.PROGRAMS[program][0]
            if ranks == 1:
                work(0, program, folder)
            else:
                torch.multiprocessing.spawn(work, (program, folder), nprocs=ranks)
            faults += judge(tool, program, folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
