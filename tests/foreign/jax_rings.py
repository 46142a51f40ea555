"""ringattention, the JAX package of the paper's authors, on three devices of one process, as ringcraft.verify asks it."""
import functools
import importlib
import os
import types

from questions import RANKS, SOME, Question, edited

# Without optimisation: each shape is compiled for a single call.
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={RANKS} --xla_backend_optimization_level=0"

import jax  # noqa: E402
import jax.extend.backend  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402

# ringattention 0.1.2 looks for the platform here when it is imported. The name has moved since.
jax.lib.xla_bridge = types.SimpleNamespace(get_backend=jax.extend.backend.get_backend)
published = importlib.import_module("ringattention.ringattention_jax")  # the package has a function of this name, too

OPTIONS = {"arrays": "jax", "axes": "bshd", "ranks": RANKS, "layout": "contiguous", "multiple": 2 * RANKS, "windows": False,
           "packed": False, "grouped": False}


@functools.cache
def on_devices(chunks, causal, *parts):
    """The ring over the shards of all devices, in some chunks each: compiled anew for other parts."""
    def local(q, k, v):
        rows = q.shape[1] // chunks
        settings = {"causal_block_size": 1 if causal else None, "query_chunk_size": rows, "key_chunk_size": rows,
                    "deterministic": True, "dropout_rng": None, "attn_pdrop": 0.0, "dtype": q.dtype, "precision": None,
                    "policy": jax.checkpoint_policies.nothing_saveable, "prevent_cse": True}
        return published.ring_attention(q, k, v, None, None, None, "ranks", True, settings)

    mesh, shards = Mesh(np.array(jax.devices()), ("ranks",)), PartitionSpec(None, "ranks")
    return jax.jit(jax.shard_map(local, mesh=mesh, in_specs=shards, out_specs=shards, check_vma=False))


def in_chunks(chunks):
    def ring(q, k, v, causal):
        parts = published.ring_attention.fwd, published.ring_attention.bwd, published._blockwise_attention_fwd
        return on_devices(chunks, causal, *parts)(q, k, v)
    return ring


def questions():
    of_ring, forward, backward = published.ring_attention, published._ring_attention_fwd, published._ring_attention_bwd
    block = published._blockwise_attention_fwd
    growing = "denominator_chunk * jnp.exp(prev_max_score_chunk - max_score_chunk)"
    correction = "jnp.exp(prev_max_score_chunk - max_score_chunk), 'b h q -> b q h'"
    changes = {
        "the sum is not rescaled": ([(published, block.__name__, edited(block, growing, "denominator_chunk"))], "OS1"),
        "the output is not rescaled": ([(published, block.__name__, edited(
            block, correction, "jnp.ones_like(max_score_chunk), 'b h q -> b q h'"))], "OS2"),
        "KV permuted the other way": (
            [(of_ring, "fwd", edited(forward, "(i + 1) % axis_size", "(i - 1) % axis_size"))], "RF4"),
        "backward counts ranks the other way": ([(of_ring, "bwd", edited(
            backward, "(lax.axis_index(axis_name) - idx)", "(lax.axis_index(axis_name) + idx)"))], "RB4"),
    }
    yield Question("ringattention", "ring_attention", in_chunks(1), OPTIONS, changes=changes)
    # Of a chunk on the diagonal, (r + 1) * rows - 1 > c * rows: not so if it has one row.
    yield Question("ringattention", "ring_attention, chunks of one token", in_chunks(2), {**OPTIONS, "causal": True},
                   "CM5", SOME)
