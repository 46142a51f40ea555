"""Ring attention in NumPy, right and with one of the mistakes that people make: what ringcraft.verify must tell apart."""
import numpy as np

import ringcraft


def visible(problem, queries, keys, left, right, cu_seqlens):
    """[rows, keys]: whether the query at a position sees the key at a position."""
    q, k = queries[:, None], keys[None, :]
    seen = np.ones((len(queries), len(keys)), dtype=bool)
    if left is not None:
        seen &= k >= q - left
    if right is not None:
        seen &= k <= q + right
    if len(cu_seqlens) > 2:
        seen &= np.searchsorted(cu_seqlens, q, "right") == np.searchsorted(cu_seqlens, k, "right")
    return seen


class Ring:
    """All ranks of one ring. `mistake` names what it does wrong; None: nothing."""

    def __init__(self, mistake=None):
        self.mistake, self.__name__ = mistake, mistake or "ring"

    # ------------------------------------------------------------------------------- what ranks see and hold

    def deal(self, q, k, v, problem):
        self.p, self.n = problem, problem.ranks
        self.at = [problem.positions(rank) for rank in range(self.n)]
        group = problem.heads // problem.kv_heads
        heads = np.arange(problem.heads)
        self.kv_head = heads % problem.kv_heads if self.mistake == "heads modulo" else heads // group
        self.scale = {"scale missing": 1.0, "scale inverted": problem.head_dim ** 0.5,
                      "scale without root": 1 / problem.head_dim}.get(self.mistake, problem.softmax_scale)
        self.q = [q[:, :, rows] for rows in self.at]
        self.k = [k[:, self.kv_head][:, :, rows] for rows in self.at]
        self.v = [v[:, self.kv_head][:, :, rows] for rows in self.at]

    def block(self, rank, step):
        """The rank whose block lies there."""
        return (rank - step) % self.n

    def seen(self, rank, source):
        """The mask of a block, [rows, keys]."""
        mask = self.p.mask
        left, right, borders = mask.left, mask.right, mask.cu_seqlens
        queries, keys = self.at[rank], self.at[source]
        wrong = self.mistake
        if wrong == "wrong label":
            keys = self.at[(2 * rank - source) % self.n]  # (rank + step) instead of (rank - step)
        if wrong == "own label":
            keys = queries
        if wrong == "local positions":
            queries, keys = np.arange(len(queries)), np.arange(len(keys))
        if wrong == "window one short" and left is not None:
            left = max(0, left - 1)
        if wrong == "borders ignored":
            borders = []
        if wrong == "strict mask" and right == 0:
            right = -1
        length = min(len(queries), self.k[source].shape[2])
        seen = visible(self.p, queries, keys[:self.k[source].shape[2]], left, right, borders)
        if seen.shape[1] < self.k[source].shape[2]:  # a label of a shorter shard
            seen = np.pad(seen, ((0, 0), (0, self.k[source].shape[2] - seen.shape[1])))
        if wrong == "no mask in own block" and source == rank:
            seen[:] = True
        if wrong == "future blocks visible" and source > rank:
            seen[:] = True
        assert length >= 0
        return seen

    def scores(self, rank, source):
        s = np.einsum("bhqd,bhkd->bhqk", self.q[rank], self.k[source]) * self.scale
        return np.where(self.seen(rank, source), s, 0 if self.mistake == "masked scores are 0" else -np.inf)

    def steps(self):
        return {"one step too few": range(self.n - 1), "one step too many": range(self.n + 1)}.get(self.mistake,
                                                                                                 range(self.n))

    # ------------------------------------------------------------------------------------------ forward

    def forward(self, rank):
        shape = self.q[rank].shape
        m, l, o = np.full(shape[:3], -np.inf), np.zeros(shape[:3]), np.zeros(shape)
        parts, wrong = [], self.mistake
        if wrong == "maximum begins at 0":
            m[:] = 0
        for step in self.steps():
            source = self.block(rank, step)
            s = self.scores(rank, source)
            v = self.v[rank] if wrong == "v not rotated" and self.v[rank].shape == self.v[source].shape else self.v[source]
            if v.shape[2] == 0:
                continue
            top = np.maximum(m, s.max(-1))
            if wrong == "no maximum":
                top = np.zeros_like(top)
            safe = np.where(np.isfinite(top), top, 0)
            p = np.exp(s - safe[..., None])
            factor = np.exp(np.where(np.isfinite(m), m, -np.inf) - safe)
            if wrong == "no maximum":
                factor = np.ones_like(factor)
            parts.append((p.sum(-1), np.einsum("bhqk,bhkd->bhqd", p, v), safe, s.shape[-1]))
            if wrong == "factor inverted":
                factor = np.where(factor > 0, 1 / np.where(factor > 0, factor, 1), 0)
            l = l * (1 if wrong in ("l not rescaled", "neither rescaled") else factor) + p.sum(-1)
            o = o * (1 if wrong in ("o not rescaled", "neither rescaled") else factor)[..., None] \
                if not np.isscalar(1 if wrong in ("o not rescaled", "neither rescaled") else factor) else o
            o = o + np.einsum("bhqk,bhkd->bhqd", p, v)
            if wrong == "divided at every hop":
                o = o / np.where(l > 0, l, 1)[..., None]
            m = top
        if wrong == "partial results averaged":
            o = np.mean([o / np.where(l > 0, l, 1)[..., None] for l, o, _, _ in parts], axis=0)
            return o, m + np.log(l)
        if wrong == "weighted by key counts":
            total = sum(keys for *_, keys in parts)
            o = sum(keys / total * o / np.where(l > 0, l, 1)[..., None] for l, o, _, keys in parts)
            return o, m + np.log(l)
        lse = np.where(np.isfinite(m), m, 0) + np.log(l)
        return (o if wrong in ("never divided", "divided at every hop") else o / l[..., None]), lse

    # ----------------------------------------------------------------------------------------- backward

    def backward(self, rank, out, lse, dout, sums):
        """Adds this rank's share to the sums of dk and dv of every block, and returns its dq."""
        wrong = self.mistake
        dq = np.zeros_like(self.q[rank])
        delta = (out * dout).sum(-1)
        if wrong == "lse of the last block":
            for step in range(self.n):
                s = self.scores(rank, self.block(rank, step))
                top = s.max(-1, initial=-np.inf)
                of_block = top + np.log(np.exp(s - top[..., None]).sum(-1))
                lse = np.where(np.isfinite(top), of_block, lse)
        for step in range(self.n):
            source = self.block(rank, step)
            s = self.scores(rank, source)
            if wrong == "no mask backward":
                s = np.einsum("bhqd,bhkd->bhqk", self.q[rank], self.k[source]) * self.scale
            p = np.exp(s - lse[..., None])
            dp = np.einsum("bhqd,bhkd->bhqk", dout, self.v[source])
            ds = p * (dp - (0 if wrong == "no delta" else delta[..., None]))
            if wrong == "sign of ds":
                ds = -ds
            part = np.einsum("bhqk,bhkd->bhqd", ds, self.k[source]) * self.scale
            dq = part if wrong == "dq overwritten" else dq + part
            home = {"gradients stay": rank, "gradients one hop short": (source + 1) % self.n,
                    "gradients go the other way": (2 * rank - source) % self.n}.get(wrong, source)
            dk = np.einsum("bhqk,bhqd->bhkd", ds, self.q[rank]) * (1 if wrong == "dk not scaled" else self.scale)
            dv = np.einsum("bhqk,bhqd->bhkd", p, dout)
            if wrong == "gradients divided by ranks":
                dk, dv = dk / self.n, dv / self.n
            if sums[home][0].shape == dk.shape:
                sums[home][0][:] += dk
                sums[home][1][:] += dv
        return dq

    # ------------------------------------------------------------------------------------------- the whole

    def whole(self, shards, problem):
        result = np.empty((*shards[0].shape[:2], problem.seqlen, *shards[0].shape[3:]))
        for rows, shard in zip(self.at, shards):
            result[:, :, rows] = shard
        return result

    def grouped(self, x):
        """The sum over the query heads of each KV head."""
        result = np.zeros((x.shape[0], self.p.kv_heads, *x.shape[2:]))
        for head, kv_head in enumerate(self.kv_head):
            result[:, kv_head] += x[:, head]
        return result

    def __call__(self, q, k, v, problem):
        with np.errstate(all="ignore"):
            self.deal(q, k, v, problem)
            results = [self.forward(rank) for rank in range(self.n)]
            if self.mistake == "not put back in order":
                return np.concatenate([o for o, _ in results], 2), np.concatenate([lse for _, lse in results], 2)
            return self.whole([o for o, _ in results], problem), self.whole([lse for _, lse in results], problem)

    def gradients(self, q, k, v, dout, problem):
        with np.errstate(all="ignore"):
            self.deal(q, k, v, problem)
            sums = [(np.zeros(k.shape), np.zeros(v.shape)) for k, v in zip(self.k, self.v)]
            dq = []
            for rank in range(self.n):
                out, lse = self.forward(rank)
                dq.append(self.backward(rank, out, lse, dout[:, :, self.at[rank]], sums))
            dk, dv = (self.grouped(self.whole([each[i] for each in sums], problem)) for i in (0, 1))
            if self.mistake == "dk and dv exchanged":
                dk, dv = dv, dk
            if self.mistake == "halves of dk and dv exchanged":
                shards = [[np.roll(each, -((each.shape[2] + 1) // 2), 2) for each in pair] for pair in sums]
                dk, dv = (self.grouped(self.whole([each[i] for each in shards], problem)) for i in (0, 1))
            return self.whole(dq, problem), dk, dv


def verified(mistake, **options):
    """The verdict on the ring with this mistake, in float64, on three ranks."""
    ring = Ring(mistake)
    return ringcraft.verify(ring, backward=ring.gradients, dtype="float64", ranks=3, **options)
