"""The same mistake has the same cause in `check` and in `verify`: wrong rings of lessons 303 and 304, written once more in NumPy.

Each ring below makes the mistake of the wrong file tests/misconceptions/303_ring_forward (or 304_ring_backward) of its name, whose
first cause stands in tests/misconceptions/tables; verify is asked about the tensors that it gives. All shards have equal
lengths, so that a wrong label fits. Exits 77 without NumPy.
    python3 tests/held_out/twins.py RINGCRAFT_TOOL
"""
import csv
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TABLES = HERE.parent / "misconceptions/tables"
sys.path.insert(0, str(HERE / "claims"))
CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=36, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
FORWARD = ("wrong_label", "one_step_short", "own_block_twice", "label_self", "values_stay", "no_scale",
           "does_not_see_itself", "own_block_visible", "every_block_twice")
BACKWARD = ("gradients_stay", "not_home", "opposite_direction", "keys_and_values_swapped", "delta_of_the_block", "no_delta",
            "dk_without_scale", "lse_of_the_block", "mask_forgotten", "wrong_label", "divides_by_ranks")


class Ring:
    """One ring whose forward or backward pass makes a mistake."""

    def __init__(self, mistake, in_backward, q, k, v, dout):
        import case

        self.lib, self.rows, self.n = case, case.dealt(CASE), CASE["ranks"]
        self.forward_mistake = "" if in_backward else mistake
        self.backward_mistake = mistake if in_backward else ""
        self.q, self.k, self.v, self.dout = (case.scatter(x, self.rows) for x in (q, k, v, dout))
        self.group = CASE["heads"] // CASE["kv_heads"]

    def wide(self, x):
        return np.repeat(x, self.group, axis=1)

    def narrow(self, x):
        return x.reshape(x.shape[0], -1, self.group, *x.shape[2:]).sum(2)

    def scores(self, mistake, r, source, owner):
        """Scores of the rows of r and the keys of `source`, masked as those of `owner`."""
        see = self.lib.visible(CASE, self.rows[r], self.rows[owner])
        if mistake == "label_self":
            see = np.arange(len(self.rows[r]))[:, None] >= np.arange(len(self.rows[source]))[None]
        if mistake == "does_not_see_itself":
            see = see & (self.rows[r][:, None] != self.rows[source][None])
        if mistake == "mask_forgotten" or (mistake == "own_block_visible" and r == source):
            see = np.ones_like(see)
        scale = 1 if mistake == "no_scale" else CASE["head_dim"] ** -0.5
        return np.where(see, scale * self.q[r] @ self.wide(self.k[source]).swapaxes(2, 3), -np.inf)

    def owner(self, mistake, r, t):
        return (r + t if mistake == "wrong_label" else r - t) % self.n

    def forward(self):
        steps = {"one_step_short": self.n - 1, "own_block_twice": self.n + 1}.get(self.forward_mistake, self.n)
        times = 2 if self.forward_mistake == "every_block_twice" else 1
        self.out, self.lse, self.blocks = [], [], []
        for r in range(self.n):
            parts = []
            for t in range(steps):
                source = (r - t) % self.n
                s = self.scores(self.forward_mistake, r, source, self.owner(self.forward_mistake, r, t))
                value = self.v[r if self.forward_mistake == "values_stay" else source]
                parts += [(s, self.wide(value))] * times
            s, v = (np.concatenate([p[i] for p in parts], axis=3 - i) for i in (0, 1))
            top = s.max(3, keepdims=True)
            p = np.exp(s - np.where(np.isinf(top), 0, top))
            total = p.sum(3, keepdims=True)
            lse = np.where(total > 0, top + np.log(np.where(total > 0, total, 1)), -np.inf)
            out = p @ v / np.where(total > 0, total, 1)
            self.out.append(out)
            self.lse.append(lse)

    def backward(self):
        mistake, scale = self.backward_mistake, CASE["head_dim"] ** -0.5
        dq = [np.zeros_like(x) for x in self.q]
        dk, dv = ([np.zeros_like(x) for x in xs] for xs in (self.k, self.v))
        for r in range(self.n):
            delta = (self.out[r] * self.dout[r]).sum(3, keepdims=True)
            for t in range(self.n):
                source = (r - t) % self.n
                s = self.scores(mistake, r, source, self.owner(mistake, r, t))
                top = s.max(3, keepdims=True)
                top = np.where(np.isinf(top), 0, top)
                lse, own = self.lse[r], np.exp(s - top)
                total = own.sum(3, keepdims=True)
                if mistake == "lse_of_the_block":
                    lse = np.where(total > 0, top + np.log(np.where(total > 0, total, 1)), 0)
                p = np.exp(s - np.where(np.isinf(lse), 0, lse))
                v = self.wide(self.v[source])
                d = delta
                if mistake == "delta_of_the_block":
                    d = (own @ v / np.where(total > 0, total, 1) * self.dout[r]).sum(3, keepdims=True)
                ds = p * (self.dout[r] @ v.swapaxes(2, 3) - (0 if mistake == "no_delta" else d))
                dq[r] += scale * ds @ self.wide(self.k[source])
                to = self.lands(mistake, r, t)
                dk[to] += self.narrow(ds.swapaxes(2, 3) @ self.q[r]) * (1 if mistake == "dk_without_scale" else scale)
                dv[to] += self.narrow(p.swapaxes(2, 3) @ self.dout[r])
        if mistake == "keys_and_values_swapped":
            dk, dv = dv, dk
        if mistake == "divides_by_ranks":
            dk, dv = ([x / self.n for x in xs] for xs in (dk, dv))
        return dq, dk, dv

    def lands(self, mistake, r, t):
        """The rank that ends with what r gives to the block that it meets at step t."""
        if mistake == "gradients_stay":
            return r
        if mistake == "not_home":  # one hop fewer than there are ranks
            return (r - t - 1) % self.n
        if mistake == "opposite_direction":  # towards smaller ranks: N - t hops from r
            return (r - (self.n - t)) % self.n
        return (r - t) % self.n

    def tensors(self):
        self.forward()
        gradients = self.backward()
        parts = dict(zip(("out", "lse", "dq", "dk", "dv"), (self.out, [x[..., 0] for x in self.lse], *gradients)))
        return {name: self.lib.gather(x, self.rows) for name, x in parts.items()}


def cause_in_check(lesson, file):
    with open(TABLES / f"{lesson}.csv", encoding="utf-8", newline="") as lines:
        return next(row["cause"] for row in csv.DictReader(lines) if row["file"] == file)


def cause_in_verify(tool, mistake, in_backward, folder):
    import case

    given = case.inputs(CASE, case.seed_of(mistake))
    made = Ring(mistake, in_backward, *given).tensors()
    files = [folder / "in.safetensors", folder / "claim.safetensors", folder / "report.json"]
    case.save(files[0], dict(zip(("q", "k", "v", "dout"), given)), CASE["dtype"])
    case.save(files[1], made, CASE["dtype"])
    call = [tool, "verify", "--input", files[0], "--claim", files[1], "--json", files[2], "--ranks", str(CASE["ranks"]),
            "--layout", CASE["layout"], "--causal"]
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    if ran.returncode != (1 if mistake else 0):
        sys.exit(f"{mistake}: verify ends with {ran.returncode}\n{ran.stdout}{ran.stderr}")
    rows = json.loads(files[2].read_text(encoding="utf-8"))["rows"]
    return next((cause["id"] for row in rows for cause in row["causes"]), "")


def main(tool):
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cause_in_verify(tool, "", True, folder)  # the ring without a mistake is right
        for lesson, mistakes in (("303_ring_forward", FORWARD), ("304_ring_backward", BACKWARD)):
            for mistake in mistakes:
                of_check = cause_in_check(lesson, mistake)
                of_verify = cause_in_verify(tool, mistake, lesson.startswith("304"), folder)
                print(f"{lesson}/{mistake}: {of_check or 'none'} in check, {of_verify or 'none'} in verify")
                wrong += of_check != of_verify or not of_check
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    if not importlib.util.find_spec("numpy"):
        print("NumPy (package python3-numpy) is not here: skipped")
        sys.exit(77)
    import numpy as np

    main(sys.argv[1])
