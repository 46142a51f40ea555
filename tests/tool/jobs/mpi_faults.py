"""Seeded faults of MPI jobs: kills, stops, delays, other flags, other inputs, a disk that is full.

usage: mpi_faults.py TOOL MPIRUN FOLDER

Each fault ends the job within ten seconds with a sentence that names the rank or the cause, no process stays,
and there is no output, not even a part of one; a delay shorter than the patience changes no bit of the result.
RINGCRAFT_SEED repeats a run; RINGCRAFT_LONG makes 200 faults instead of 12.
"""
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

PATIENCE = 1.5  # seconds, of the jobs below
LIMIT = 10.0
TOKENS = 3600
MISSED = (["rank {0}", "not at the end"], ["rank {0}:", "not in the job"])  # what rank 0 says of a rank that is not there


def about(rank, *fragments):
    """These fragments of sentences, of this rank."""
    return [[part.format(rank) for part in fragment] for fragment in fragments]


def write_tensors(path, seqlen, seed, heads=4, kv_heads=2, width=16):
    numbers = random.Random(seed)
    header, data = {}, b""
    for name, count in (("q", heads), ("k", kv_heads), ("v", kv_heads), ("dout", heads)):
        shape = [1, count, seqlen, width]
        values = [numbers.uniform(-2, 2) for _ in range(count * seqlen * width)]
        raw = struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def processes_with(mark):
    """Process numbers whose command line holds `mark`: the job of one scene."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
            with open(f"/proc/{entry}/stat", "rb") as file:
                state = file.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if state != b"Z" and any(mark.encode() in word for word in words):
            found.append((int(entry), environment.get(b"OMPI_COMM_WORLD_RANK", environment.get(b"PMI_RANK"))))
    return found


class Scene:
    """One job, in a folder of its own."""

    def __init__(self, tool, mpirun, folder, number, ranks):
        self.tool, self.mpirun, self.ranks = tool, mpirun, ranks
        self.folder = os.path.join(folder, f"scene-{number}")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "tmp"))
        self.output = os.path.join(self.folder, "out.safetensors")
        self.environment = dict(os.environ, TMPDIR=os.path.join(self.folder, "tmp"))

    def words(self, source, *more):
        return [self.tool, "attend", "--input", source, "--output", self.output, "--ranks", str(self.ranks),
                "--causal", "--backend", "mpi", "--patience", str(PATIENCE), *more]

    def start(self, words, **options):
        self.begin = time.monotonic()
        self.job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=self.environment, **options)

    def rank_process(self, rank):
        """The process of this rank, once it is there."""
        while self.job.poll() is None and time.monotonic() < self.begin + LIMIT:
            for number, its_rank in processes_with(self.output):
                if its_rank == str(rank).encode():
                    return number
            time.sleep(0.002)
        return None

    def record(self, rank):
        """The events of this rank so far, in letters (src/tool/jobs/job_record.hpp)."""
        for name in os.listdir(self.environment["TMPDIR"]):
            try:
                with open(os.path.join(self.environment["TMPDIR"], name, str(rank)), encoding="ascii") as file:
                    return file.read()
            except OSError:
                continue
        return ""

    def ended(self):
        """Its exit code, once it has ended."""
        try:
            return self.job.wait(timeout=3 * LIMIT)
        except subprocess.TimeoutExpired:
            records = [self.record(rank) for rank in range(self.ranks)]
            for number, _ in processes_with(self.output):
                os.kill(number, signal.SIGKILL)
            self.job.kill()
            _, said = self.job.communicate()
            raise AssertionError(f"the job does not end; records {records}; it said: {said}") from None

    def end(self):
        """Exit code and sentences."""
        self.ended()
        _, said = self.job.communicate()
        return self.job.returncode, said


def require(holds, what):
    if not holds:
        raise AssertionError(what)


def require_gone(scene):
    deadline = time.monotonic() + 3
    while processes_with(scene.output) and time.monotonic() < deadline:
        time.sleep(0.02)
    require(not processes_with(scene.output), f"processes stay: {processes_with(scene.output)}")
    left = os.listdir(scene.environment["TMPDIR"])
    require(not [name for name in left if name.startswith("ringcraft")], f"files stay: {left}")


def require_failed(scene, since, *fragments):
    code, said = scene.end()
    seconds = time.monotonic() - since
    require(code not in (0, None), f"exit code {code}")
    require(any(all(re.search(part, said) for part in fragment) for fragment in fragments),
            f"no sentence with {fragments}; it said: {said}")
    require("Traceback" not in said and said.count("ringcraft: ") >= 1, said)
    require(seconds <= LIMIT, f"took {seconds:.1f} s")
    require(os.listdir(scene.folder) == ["tmp"], f"files: {os.listdir(scene.folder)}")
    require_gone(scene)


class Faults:
    def __init__(self, tool, mpirun, folder, dice):
        self.tool, self.mpirun, self.folder, self.dice = tool, mpirun, folder, dice
        self.source = os.path.join(folder, "in.safetensors")
        self.other = os.path.join(folder, "other.safetensors")
        self.shorter = os.path.join(folder, "shorter.safetensors")
        write_tensors(self.source, TOKENS, 1)
        write_tensors(self.other, TOKENS, 2)
        write_tensors(self.shorter, TOKENS - 1, 1)
        self.wanted = {}

    def scene(self, number):
        return Scene(self.tool, self.mpirun, self.folder, number, self.dice.choice([2, 3, 4, 5]))

    def strike(self, scene, signal_number):
        """Sends the signal to one rank at a random time; the rank, or None if the job was over before."""
        rank = self.dice.randrange(scene.ranks)
        process = scene.rank_process(rank)
        if process is None:
            return None, None
        time.sleep(self.dice.uniform(0, 0.3))
        try:
            os.kill(process, signal_number)
        except ProcessLookupError:
            return None, None
        return rank, process

    def require_right(self, scene, code, said):
        require(code == 0, f"exit code {code}: {said}")
        with open(scene.output, "rb") as file:
            got = file.read()
        require(got == self.threads(scene.ranks), "the result has other bits than that of threads")
        require_gone(scene)

    def threads(self, ranks):
        if ranks not in self.wanted:
            path = os.path.join(self.folder, "threads.safetensors")
            subprocess.run([self.tool, "attend", "--input", self.source, "--output", path, "--ranks", str(ranks),
                            "--causal"], check=True, stdout=subprocess.DEVNULL)
            with open(path, "rb") as file:
                self.wanted[ranks] = file.read()
        return self.wanted[ranks]

    def struck(self, scene, signal_number, *fragments):
        scene.start(scene.words(self.source))
        rank, _ = self.strike(scene, signal_number)
        since = time.monotonic()
        if rank is None or scene.job.poll() == 0:
            code, said = scene.end()
            self.require_right(scene, code, said)  # it was over before
            return "over before"
        if scene.ended() == 0:  # the rank had no more to do
            self.require_right(scene, *scene.end())
            return "over before"
        if os.path.exists(scene.output):  # rank 0 had written: whole, or it is an error
            with open(scene.output, "rb") as file:
                require(file.read() == self.threads(scene.ranks), "a part of an output")
            os.remove(scene.output)
        require_failed(scene, since, *about(rank, *fragments))
        return "named"

    def kill(self, scene):
        return self.struck(scene, signal.SIGKILL, [r"ranks? (\d+, )*{0}\b.*without a message"],
                           [r"ranks? (\d+, )*{0}\b.*before it joined"],
                           *MISSED)  # mpirun may not notice it before

    def stop(self, scene):
        return self.struck(scene, signal.SIGSTOP, ["rank {0}", "not answer"], *MISSED)

    def long_delay(self, scene):
        scene.start(scene.words(self.source))
        rank, process = self.strike(scene, signal.SIGSTOP)
        since = time.monotonic()
        if rank is None:
            self.require_right(scene, *scene.end())
            return "over before"
        time.sleep(PATIENCE + 2.5)
        try:
            os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            pass
        if scene.ended() == 0:
            self.require_right(scene, *scene.end())
            return "over before"
        if os.path.exists(scene.output):
            os.remove(scene.output)
        require_failed(scene, since, *about(rank, ["rank {0}", "not answer"], *MISSED))
        return "named"

    def short_delay(self, scene):
        scene.start(scene.words(self.source))
        rank, process = self.strike(scene, signal.SIGSTOP)
        time.sleep(self.dice.uniform(0, PATIENCE / 4))
        if rank is not None:
            os.kill(process, signal.SIGCONT)
        self.require_right(scene, *scene.end())
        return "right"

    def mixed(self, scene, different, *fragment):
        """The last rank is started with another command line."""
        first = scene.words(self.source)
        scene.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                 OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_pml="ob1",
                                 PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                                 OMPI_MCA_btl="self,vader", OMPI_MCA_mpi_yield_when_idle="1")
        scene.start([self.mpirun, "-n", str(scene.ranks - 1), *first, ":", "-n", "1", *different(scene)])
        require_failed(scene, time.monotonic(), [f"rank {scene.ranks - 1}", *fragment])
        return "named"

    def other_flag(self, scene):
        flag, value, words = self.dice.choice(
            [("--layout", "striped", "--layout"), ("--window", "5", "the mask"),
             ("--schedule", "forward", "--schedule"), ("--softmax-scale", "0.5", "--softmax-scale")])
        return self.mixed(scene, lambda s: s.words(self.source, flag, value), "differs from rank 0", words)

    def other_contents(self, scene):
        return self.mixed(scene, lambda s: s.words(self.other), "differs from rank 0", "q of")

    def wrong_length(self, scene):
        return self.mixed(scene, lambda s: s.words(self.shorter), "differs from rank 0", "the shape")

    def full_disk(self, scene):
        """Files of rank 0 may not grow any more, once MPI has made its own."""
        scene.start(scene.words(self.source))
        process = scene.rank_process(0)
        while process is not None and "j" not in scene.record(0) and scene.job.poll() is None:
            time.sleep(0.001)
        since = time.monotonic()
        try:
            most = self.dice.choice([100, 4096, 100000])
            resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
        except (ProcessLookupError, TypeError):
            self.require_right(scene, *scene.end())
            return "over before"
        require_failed(scene, since, ["out.safetensors"])
        return "named"


def main():
    tool, mpirun, folder = sys.argv[1:4]
    seed = int(os.environ.get("RINGCRAFT_SEED") or random.SystemRandom().randrange(2**31))
    count = 200 if os.environ.get("RINGCRAFT_LONG") else 12
    print(f"{count} faults of MPI jobs, from RINGCRAFT_SEED={seed}", flush=True)
    os.makedirs(folder, exist_ok=True)
    dice = random.Random(seed)
    faults = Faults(tool, mpirun, folder, dice)
    kinds = [faults.kill, faults.stop, faults.long_delay, faults.short_delay, faults.other_flag,
             faults.other_contents, faults.wrong_length, faults.full_disk]
    order = [kinds[i % len(kinds)] for i in range(count)]
    dice.shuffle(order)
    outcomes = {}
    for number, kind in enumerate(order):
        scene = faults.scene(number)
        try:
            outcome = kind(scene)
        except AssertionError as error:
            print(f"fault {number}, {kind.__name__} with {scene.ranks} ranks: {error}")
            return 1
        outcomes[(kind.__name__, outcome)] = outcomes.get((kind.__name__, outcome), 0) + 1
        shutil.rmtree(scene.folder)
    for (kind, outcome), times in sorted(outcomes.items()):
        print(f"  {kind}: {outcome} {times}")
    named = sum(times for (_, outcome), times in outcomes.items() if outcome == "named")
    require(named * 3 >= count, f"only {named} of {count} faults met a running job")
    return 0


if __name__ == "__main__":
    sys.exit(main())
