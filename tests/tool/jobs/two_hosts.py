"""An MPI job over two hosts: the bits of threads, and faults that end with their cause.

usage: two_hosts.py TOOL MPIRUN FOLDER
RINGCRAFT_LONG strikes jobs of mpirun in every way, too, instead of one.

The hosts are namespaces of this machine: alpha, where this script runs, and beta have a name and an address each,
and one cable joins them. All of it, processes included, is gone when this script has ended, however it ends. Exit
code 77: this machine does not allow it.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from mpi_faults import processes_with, require, write_tensors

NAMES = {"alpha": "10.77.0.1", "beta": "10.77.0.2"}
CABLE = "10.77.0.0/24"
RANKS = 4  # two on each
PATIENCE = 8  # seconds, of the jobs that are disturbed
LIMIT = 30.0  # for a job to end after a fault, and for its processes to be gone
TOKENS = 24000
READING = 0.35  # seconds of a processor: more than a rank needs before it computes, less than all that it needs

# Called like ssh: a host, then a command. Like there, the command finds none of the caller's variables.
SHELL = """#!/bin/sh
while [ "$1" != beta ]; do [ $# -gt 1 ] || exit 255; shift; done
shift
exec env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" {beta} sh -c "$*"
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def enter_namespaces():
    """Starts this script again, as root of a machine within the machine."""
    reason = ""
    for more in [], ["--user", "--map-root-user"]:
        words = ["unshare", *more, "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        try:
            tried = subprocess.run([*words, "sh", "-c", "ip link add type veth && mount --bind /etc/hosts /etc/hosts"],
                                   capture_output=True, text=True, check=False)
        except FileNotFoundError:
            skip("no unshare here (package util-linux)")
        if tried.returncode == 0:
            os.execvp(words[0], [*words, sys.executable, *sys.argv, "inside"])
        reason = tried.stderr.strip()
    skip(f"no namespaces, or no ip (package iproute2): {reason}")


def call(*words):
    subprocess.run(words, check=True)


def processor_seconds(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")
    except FileNotFoundError:
        return 0


class Hosts:
    """beta is held by a process that sleeps."""

    def __init__(self, folder):
        call("hostname", "alpha")
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", "hostname beta; echo; exec sleep inf"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.beta = ["nsenter", "--target", str(self.holder.pid), "--net", "--uts"]
        call("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(self.holder.pid))
        for host, way in (("alpha", []), ("beta", self.beta)):
            call(*way, "ip", "address", "add", NAMES[host] + "/24", "dev", "cable")
            for device in "lo", "cable":
                call(*way, "ip", "link", "set", device, "up")
        self.shell = os.path.join(folder, "shell")
        self.list = os.path.join(folder, "hosts")
        names = os.path.join(folder, "names")
        for path, text in ((self.shell, SHELL.format(beta=" ".join(self.beta))),
                           (self.list, "".join(f"{host} slots={RANKS // 2}\n" for host in NAMES)),
                           (names, "".join(f"{address} {host}\n" for host, address in NAMES.items()))):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(self.shell, 0o700)
        call("mount", "--bind", names, "/etc/hosts")

    def plug(self, state):
        call(*self.beta, "ip", "link", "set", "cable", state)


class Job:
    """attend over both hosts, started by itself or by mpirun."""

    def __init__(self, tool, mpirun, folder, hosts, by_itself, patience=PATIENCE):
        self.output = os.path.join(folder, "out", "mpi.safetensors")
        self.said = os.path.join(folder, "said")
        words = attend(tool, folder, self.output) + ["--backend", "mpi", "--patience", str(patience)]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_plm_rsh_agent=hosts.shell, OMPI_MCA_btl_tcp_if_include=CABLE)
        if by_itself:
            environment["OMPI_MCA_orte_default_hostfile"] = hosts.list
        else:
            environment.update(OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader,tcp")
            words = [mpirun, "--hostfile", hosts.list, "-n", str(RANKS), *words]
        with open(self.said, "w", encoding="utf-8") as said:  # no pipe: what stays would hold it open
            self.job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)

    def process(self, rank):
        """The process of this rank, once it computes: it has spent more time than reading takes."""
        while self.job.poll() is None:
            for number, its_rank in processes_with(self.output):
                if its_rank == str(rank).encode() and processor_seconds(number) > READING:
                    return number
            time.sleep(0.02)
        raise AssertionError(f"the job is over: {self.sentences()}")

    def sentences(self):
        with open(self.said, encoding="utf-8") as file:
            return file.read()

    def end(self, limit):
        """Its exit code; None if it does not end."""
        try:
            return self.job.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            self.job.kill()
            self.job.wait()
            return None


def attend(tool, folder, output):
    return [tool, "attend", "--input", os.path.join(folder, "in.safetensors"), "--output", output, "--ranks", str(RANKS),
            "--causal"]


def require_right(job, wanted):
    code = job.end(300)
    require(code == 0, f"exit code {code}: {job.sentences()}")
    with open(job.output, "rb") as file:
        require(file.read() == wanted, "the result has other bits than that of threads")
    os.remove(job.output)


def require_ended(job, hosts, fault, fragments, by_itself):
    """mpirun itself waits for a host that it has lost, for a quarter of an hour; the tool ends it."""
    begin = time.monotonic()
    code = job.end(LIMIT)
    said = job.sentences()
    require(code not in (0, None) or (fault == "cut" and not by_itself and code is None), f"exit code {code}: {said}")
    require(all(fragment in said for fragment in fragments), f"no sentence with {fragments}; it said: {said}")
    seconds = time.monotonic() - begin
    hosts.plug("up")
    while processes_with(job.output) and time.monotonic() < begin + 2 * LIMIT:
        time.sleep(0.05)
    require(not processes_with(job.output), f"processes stay: {processes_with(job.output)}")
    require(not os.listdir(os.path.dirname(job.output)), f"files stay: {os.listdir(os.path.dirname(job.output))}")
    print(f"  {fault}: {seconds:.1f} s\n    " + "\n    ".join(
        line for line in said.splitlines() if line.startswith("ringcraft: ") or "noticed that" in line), flush=True)


def main():
    tool, mpirun, folder = (os.path.abspath(path) for path in sys.argv[1:4])
    if len(sys.argv) == 4:
        enter_namespaces()
    os.makedirs(os.path.join(folder, "out"), exist_ok=True)
    with tempfile.TemporaryDirectory() as names:  # mpirun takes the agent for words, so its path has no blank
        hosts = Hosts(names)
        write_tensors(os.path.join(folder, "in.safetensors"), TOKENS, 1)
        threads = os.path.join(folder, "threads.safetensors")
        call(*attend(tool, folder, threads))
        with open(threads, "rb") as file:
            wanted = file.read()
        for by_itself in True, False:
            print("started by itself" if by_itself else "started by mpirun", flush=True)

            require_right(Job(tool, mpirun, folder, hosts, by_itself, patience=120), wanted)
            silent = "one of ranks 2, 3 on other hosts, without a message: was ended by signal 9"
            faults = (
                ("stop", lambda process: os.kill(process, signal.SIGSTOP), f"rank 3 does not answer after {PATIENCE} s"),
                ("cut", lambda process: hosts.plug("down"), f"rank 2, rank 3 do not answer after {PATIENCE} s"),
                ("kill", lambda process: os.kill(process, signal.SIGKILL),
                 silent if by_itself else "noticed that process rank 3"))
            if not by_itself and not os.environ.get("RINGCRAFT_LONG"):
                faults = faults[:1]
                print("  1 of 3 faults; all with ./ringcraft test --long")
            for fault, act, *fragments in faults:
                struck = Job(tool, mpirun, folder, hosts, by_itself)
                act(struck.process(3))
                require_ended(struck, hosts, fault, fragments, by_itself)
    return 0


if __name__ == "__main__":
    sys.exit(main())
