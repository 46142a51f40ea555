"""`ringcraft attend` held against PyTorch: windows and packs on 1 to 8 ranks, in every layout, in float64.

PyTorch computes each sequence by itself with a boolean mask. A difference is measured in parts of its element's scale: the
same sum over absolute values, in which each weight also carries how much of its score may be rounding.
"""
import itertools
import subprocess

import torch
from safetensors.torch import load_file, save_file

import masked
from programs import grouped

RANKS = (1, 3, 4, 8)
LAYOUTS = ("contiguous", "striped", "zigzag", "zigzag-token")
SCHEDULES = ("reversed", "forward")
BAR = 1e-12  # of the scale


def weights_of(problem, q, k):
    """Masked scores and the softmax of them, [batch, heads, queries, keys], of [batch, heads, seqlen, head_dim]."""
    scores = (q @ k.mT * problem.head_dim ** -0.5).masked_fill(~problem.visible(), -torch.inf)
    return scores, scores.softmax(-1)


def by_head(problem, own):
    """q, k, v, dout with a head of keys for each head of queries."""
    return (grouped(own[name], problem.heads) for name in ("q", "k", "v", "dout"))


def answers(problem, own):
    """Results and gradients of one sequence by PyTorch; its attention keeps its lse, so that is a logsumexp of its own."""
    q, k, _, _ = by_head(problem, own)
    lse = weights_of(problem, q, k)[0].logsumexp(-1).transpose(1, 2)
    return {**masked.sdpa(problem, own), "lse": lse}


def scales(problem, own):
    """The scale of every element of these answers."""
    q, k, v, dout = by_head(problem, own)
    weights = weights_of(problem, q, k)[1]
    q, k, v, dout = (x.abs() for x in (q, k, v, dout))
    factor = problem.head_dim ** -0.5
    condition = 1 + factor * q @ k.mT
    of_row = (weights * condition).sum(-1, keepdim=True)
    terms = weights * (condition + of_row)
    out, of_pair = terms @ v, dout @ v.mT
    of_score = factor * (terms * (of_pair + (weights * of_pair).sum(-1, keepdim=True))
                         + weights * (dout * out).sum(-1, keepdim=True))
    found = {"out": out, "lse": 1 + of_row.squeeze(-1), "dq": of_score @ k}
    for name, of_head in (("dk", of_score.mT @ q), ("dv", terms.mT @ dout)):
        found[name] = of_head.unflatten(1, (problem.kv_heads, -1)).sum(2)
    return {name: x.transpose(1, 2) for name, x in found.items()}


def attended(tool, folder, flags):
    """Results of attend for the inputs in the folder, [batch, seqlen, heads, head_dim]."""
    output = folder / "attended.safetensors"
    done = subprocess.run([tool, "attend", "--input", folder / "inputs.safetensors", "--output", output, *flags],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"attend {' '.join(flags)}:\n{done.stdout + done.stderr}")
    return {name: tensor.transpose(1, 2) for name, tensor in load_file(output).items()}


def deals(problem):
    """Flags for every number of ranks, layout and schedule; a pack is dealt as one row, and each sequence by itself."""
    for ranks, layout, schedule in itertools.product(RANKS, LAYOUTS, SCHEDULES):
        for each in ([], ["--per-sequence"]) if problem.cu_seqlens else ([],):
            yield ["--ranks", str(ranks), "--layout", layout, "--schedule", schedule, *each]


class Errors:
    """Largest difference of each tensor, and largest share of a scale."""

    def __init__(self, got, want, scale):
        if set(got) != set(want):
            raise RuntimeError(f"expected {', '.join(sorted(want))}, got {', '.join(sorted(got))}")
        self.of = {name: (difference.max().item(), (difference / scale[name]).max().item())
                   for name in want for difference in [(got[name] - want[name]).abs()]}

    def share(self):
        return max(share for _, share in self.of.values())

    def right(self):
        return all(share <= BAR for _, share in self.of.values())  # NaN is not

    def __str__(self):
        return ", ".join(f"{name} {difference:.3g} ({share:.3g} of its scale)" for name, (difference, share) in self.of.items())


def judge(tool, folder):
    """Runs attend on all problems; the number of results that are not as they must be."""
    faults, runs, smallest, largest = 0, 0, [], {}
    for problem in (each.but(dtype=torch.float64) for each in (*masked.windows(), *masked.packs())):
        inputs = problem.inputs()
        save_file({name: tensor.transpose(1, 2).contiguous() for name, tensor in inputs.items()},
                  folder / "inputs.safetensors")
        want, scale = (masked.each_alone(problem, inputs, compute) for compute in (answers, scales))
        for deal in deals(problem):
            errors = Errors(attended(tool, folder, problem.flags() + deal), want, scale)
            runs += 1
            if not errors.right():
                faults += 1
                print(f"FAILED  {problem}: {' '.join(deal)}: {errors}")
            for name, figures in errors.of.items():
                largest[name] = tuple(map(max, largest.get(name, (0, 0)), figures))
        for name, changes, _ in masked.other_masks(problem):
            errors = Errors(attended(tool, folder, problem.but(**changes).flags() + ["--ranks", "3"]), want, scale)
            smallest.append(errors.share())
            if errors.right():
                faults += 1
                print(f"FAILED  {problem}: {name} makes no difference")
    print(f"attend: {runs} runs agree with PyTorch; largest |difference|, and in parts of its scale:")
    for name, (difference, share) in largest.items():
        print(f"  {name:4} {difference:8.3g} {share:8.3g}")
    print(f"  {len(smallest)} runs with another mask do not: in parts of a scale they differ by {min(smallest):.3g} or more")
    return faults
