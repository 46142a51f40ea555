"""Seeded inputs, layouts, masks, a simulated ring's plumbing, and safetensors written by hand."""
import json
import zlib

import numpy as np


def round_bf16(x):
    """The nearest bfloat16 of each number, ties to even, in the type of x."""
    return unpack_bf16(pack_bf16(x)).astype(np.asarray(x).dtype)


def pack_bf16(x):
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def unpack_bf16(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)


def to_dtype(x, dtype):
    """x rounded to dtype; bfloat16 stays in float64 arrays."""
    if dtype == "bfloat16":
        return round_bf16(np.asarray(x, np.float64))
    return np.asarray(x, dtype)


def seed_of(name):
    return zlib.crc32(name.encode())


def inputs(case, seed):
    """q, k, v, dout of the case; q and dout [batch, heads, S, D], k and v [batch, kv_heads, S, D]."""
    draw = np.random.default_rng(seed)
    shape = lambda heads: (case["batch"], heads, case["seqlen"], case["head_dim"])
    tensors = [draw.standard_normal(shape(case[h])) for h in ("heads", "kv_heads", "kv_heads", "heads")]
    return [to_dtype(x, case["dtype"]) for x in tensors]


def positions(layout, seqlen, ranks):
    """The tokens of each rank, in the order of its rows."""
    every = np.arange(seqlen)
    if layout == "contiguous":
        return np.array_split(every, ranks)
    if layout == "striped":
        return [every[r::ranks] for r in range(ranks)]
    if layout == "zigzag-token":
        turn, seat = every // ranks, every % ranks
        owner = np.where(turn % 2 == 0, seat, ranks - 1 - seat)
        return [every[owner == r] for r in range(ranks)]
    if layout == "zigzag":
        chunks = np.array_split(every, 2 * ranks)
        return [np.concatenate([chunks[r], chunks[2 * ranks - 1 - r]]) for r in range(ranks)]
    raise ValueError(layout)


def dealt(case):
    return positions(case["layout"], case["seqlen"], case["ranks"])


def halves(case):
    """Zigzag: the number of rows in the early chunk of each rank."""
    return [len(c) for c in np.array_split(np.arange(case["seqlen"]), 2 * case["ranks"])[:case["ranks"]]]


def scatter(x, rows):
    """[.., S, D] to a list of [.., rows of a rank, D]; copies."""
    return [x[:, :, p].copy() for p in rows]


def gather(parts, rows):
    """The inverse: parts of the ranks back in the order of the sequence."""
    whole = np.empty(parts[0].shape[:2] + (sum(map(len, rows)),) + parts[0].shape[3:], parts[0].dtype)
    for part, p in zip(parts, rows):
        whole[:, :, p] = part
    return whole


def ring_shift(things, by=1):
    """What every rank holds after each has handed its thing to rank + by."""
    return [things[(r - by) % len(things)] for r in range(len(things))]


def documents(case):
    """The packed sequence of each token; all 0 without cu_seqlens."""
    borders = case["cu_seqlens"] or [0, case["seqlen"]]
    return np.repeat(np.arange(len(borders) - 1), np.diff(borders))


def visible(case, qpos, kpos):
    """[queries, keys]: which keys each query sees, by their positions in the sequence."""
    q, k, doc = np.asarray(qpos)[:, None], np.asarray(kpos)[None, :], documents(case)
    see = doc[q] == doc[k]
    if case["causal"] or case["window"] is not None:
        see &= k <= q
    if case["window"] is not None:
        see &= k >= q - case["window"]
    return see


def save(path, tensors, dtype):
    """A safetensors file, every tensor rounded to dtype."""
    name = {"float64": "F64", "float32": "F32", "bfloat16": "BF16"}[dtype]
    header, blobs, at = {}, [], 0
    for key, x in tensors.items():
        raw = pack_bf16(x) if dtype == "bfloat16" else np.ascontiguousarray(x, dtype)
        blobs.append(raw.tobytes())
        header[key] = {"dtype": name, "shape": list(np.shape(x)), "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(blobs))
