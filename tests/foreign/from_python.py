#!/usr/bin/env python3
"""from_python.py [--json F] [PACKAGE ...]: others' rings, as published and after changes, judged by ringcraft.verify.

The rings of gloo_rings.py run on three processes, those of jax_rings.py on three devices of another one. Prints a line for
each verdict, and F gets them for docs/others.py. Exit codes: 0 all verdicts are what they must be, 1 one is not.
"""
import argparse
import json
import multiprocessing
import os
import socket
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

import questions  # noqa: E402


def line(row):
    cause = f": {row['cause']}, {row['sentence']}" if row["cause"] else ""
    return (f"{'ok' if row['good'] else 'FAILED'}  {row['ring']}, {row['name']}, {row['type']}, {row['what']}: "
            f"{row['wrong']} of {row['cases']} cases wrong{cause}{row['verdict']}")


def ask(asked, packages, examination, verify, answers):
    """Asks all of them, or those of some packages; writes what came of it to a file, if this process is to say it."""
    rows = []
    for question in asked:
        if packages and question.package not in packages:
            continue
        for row in questions.verdicts(question, examination, verify):
            rows.append(row)
            if answers:
                print(line(row), flush=True)
    if answers:
        answers.write_text(json.dumps(rows), encoding="utf-8")


def on_ranks(rank, port, packages, answers):
    import gloo_rings
    from ringcraft._verify import examination
    from ringcraft.testing import verify_distributed

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=questions.RANKS)
    def cases_of(ring, **options):
        return examination(ring, arrays="torch", ranks=questions.RANKS, **options)

    ask(gloo_rings.questions(), packages, cases_of, verify_distributed, None if rank else answers)
    torch.distributed.destroy_process_group()


def on_devices(packages, answers):
    import jax_rings
    from ringcraft import verify
    from ringcraft._verify import examination

    ask(jax_rings.questions(), packages, examination, verify, answers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="F")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    asked = parser.parse_args()
    with socket.socket() as free, tempfile.TemporaryDirectory() as name:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        gloo, devices = Path(name, "gloo"), Path(name, "devices")
        spawn = multiprocessing.get_context("spawn").Process
        process = spawn(target=on_devices, args=(asked.packages, devices), daemon=True)
        process.start()
        torch.multiprocessing.spawn(on_ranks, (port, asked.packages, gloo), nprocs=questions.RANKS)
        process.join()
        if process.exitcode:
            return 1
        rows = [row for answers in (gloo, devices) for row in json.loads(answers.read_text(encoding="utf-8"))]
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all(row["good"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
