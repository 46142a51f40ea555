"""A ring of four ranks in NumPy, with one mistake: ringcraft.verify says which."""
import numpy as np
import ringcraft


def my_ring(q, k, v, problem):
    n, at = problem.ranks, [problem.positions(rank) for rank in range(problem.ranks)]
    shards = []
    for rank in range(n):
        scores, values = [], []
        for step in range(n):
            held = (rank - step) % n   # blocks move on to rank + 1: this one came from rank - step
            label = (rank + step) % n  # and here is the mistake
            s = problem.softmax_scale * q[:, :, at[rank]] @ k[:, :, at[held]].swapaxes(2, 3)
            scores.append(np.where(at[rank][:, None] >= at[label], s, -np.inf))
            values.append(v[:, :, at[held]])
        s = np.concatenate(scores, axis=-1)
        weights = np.exp(s - s.max(-1, keepdims=True))
        shards.append(weights / weights.sum(-1, keepdims=True) @ np.concatenate(values, axis=2))
    return shards


print(ringcraft.verify(my_ring, ranks=4, layout="contiguous", results="shards", causal=True, windows=False,
                       packed=False, grouped=False, multiple=4))
