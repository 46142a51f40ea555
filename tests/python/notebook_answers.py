"""Answers to the cells that the notebooks leave to their reader: right ones, and mistakes that come close."""

RIGHT = {
    "1_softmax": {
        "masked": """
def masked_softmax(scores):
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(top > -np.inf, top, 0))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total > 0, total, 1)
""",
        "step": """
def step(m, l, score):
    m_new = max(m, score)
    base = m_new if m_new > -np.inf else 0.0
    return m_new, l * np.exp(m - base) + np.exp(score - base)
""",
        "scans": 'scans = {"naive": 2, "safe": 3, "online": 2}',
    },
    "2_merging": {
        "identity": """
def merge_any(a, b):
    (o_a, m_a, l_a), (o_b, m_b, l_b) = a, b
    m = np.maximum(m_a, m_b)
    base = np.where(m > -np.inf, m, 0)
    w_a, w_b = np.exp(m_a - base), np.exp(m_b - base)
    return w_a[:, None] * o_a + w_b[:, None] * o_b, m, w_a * l_a + w_b * l_b
""",
        "lse": """
def merge_lse(out_a, lse_a, out_b, lse_b):
    lse = np.logaddexp(lse_a, lse_b)
    return out_a * np.exp(lse_a - lse)[:, None] + out_b * np.exp(lse_b - lse)[:, None], lse
""",
        "twice": "rise = np.log(2)",
    },
    "3_ring": {
        "held": "def held(rank, step, ranks):\n    return (rank - step) % ranks",
        "bytes": "def ring_bytes(ranks, rows, kv_heads, head_dim, bytes_per_number):\n"
                 "    return (ranks - 1) * 2 * rows * kv_heads * head_dim * bytes_per_number",
    },
    "4_gradients": {
        "complete": "def complete_on(block, ranks):\n    return (block - 1) % ranks",
        "invisible": "invisible = {1, 2}",
    },
    "5_balance": {
        "zigzag": """
def zigzag(seqlen, ranks):
    chunks = np.array_split(np.arange(seqlen), 2 * ranks)
    return [[*chunks[rank], *chunks[2 * ranks - 1 - rank]] for rank in range(ranks)]
""",
        "imbalance": "def imbalance(pairs):\n    return 1 - np.mean(pairs) / np.max(pairs)",
        "cost": "def cost(pairs):\n    return pairs.max(axis=0).sum()",
    },
    "6_windows_packs": {
        "seen": """
def keys_seen(p, left, right, cu_seqlens):
    sequence = np.searchsorted(cu_seqlens, p, "right")
    start, end = cu_seqlens[sequence - 1], cu_seqlens[sequence]
    return (start if left is None else max(start, p - left)), (end if right is None else min(end, p + right + 1))
""",
        "convention": "window = 4095",
        "hops": "def hops(window, rows, ranks):\n    return min(-(-window // rows), ranks - 1)",
    },
    "7_which_method": {
        "bytes": """
def ring_bytes(ranks, rows, heads, kv_heads, head_dim):
    return 2 * 2 * (ranks - 1) * rows * kv_heads * head_dim


def ulysses_bytes(ranks, rows, heads, kv_heads, head_dim):
    narrow = heads * head_dim + 2 * max(kv_heads, ranks) * head_dim
    wide = heads * head_dim + heads
    return (ranks - 1) * rows * (2 * narrow + 4 * wide) // ranks
""",
        "crossing": "fewer_from = {32: 4, 8: 8, 2: None}",
        "choice": 'slow_network, fast_network = {"method": "hybrid", "ulysses": 4}, {"method": "ring"}',
    },
    "8_your_ring": {
        "label": "def my_label(rank, step, ranks):\n    return (rank - step) % ranks",
        "factor": "def my_factor(old_max, new_max):\n    return np.exp(old_max - new_max)",
        "home": "def my_home(rank, ranks):\n    return (rank + 1) % ranks",
    },
}

WRONG = {
    "1_softmax": {
        "masked": "def masked_softmax(scores):\n    with np.errstate(all='ignore'):\n        return safe(scores)",
        "step": """
def step(m, l, score):
    m_new = max(m, score)
    return m_new, l + np.exp(score - (m_new if m_new > -np.inf else 0.0))
""",
        "scans": 'scans = {"naive": 2, "safe": 3, "online": 1}',
    },
    "2_merging": {
        "identity": "def merge_any(a, b):\n    return merge(a, b)",
        "lse": """
def merge_lse(out_a, lse_a, out_b, lse_b):
    lse = np.log(np.exp(lse_a) + np.exp(lse_b))
    return out_a * np.exp(lse_a - lse)[:, None] + out_b * np.exp(lse_b - lse)[:, None], lse
""",
        "twice": "rise = 2",
    },
    "3_ring": {
        "held": "def held(rank, step, ranks):\n    return (rank + step) % ranks",
        "bytes": "def ring_bytes(ranks, rows, kv_heads, head_dim, bytes_per_number):\n"
                 "    return ranks * 2 * rows * kv_heads * head_dim * bytes_per_number",
    },
    "4_gradients": {
        "complete": "def complete_on(block, ranks):\n    return block",
        "invisible": "invisible = {1}",
    },
    "5_balance": {
        "zigzag": """
def zigzag(seqlen, ranks):
    rows = np.array_split(np.arange(seqlen), ranks)
    return [list(part) for part in rows]
""",
        "imbalance": "def imbalance(pairs):\n    return 1 - np.min(pairs) / np.max(pairs)",
        "cost": "def cost(pairs):\n    return pairs.sum(axis=1).max()",
    },
    "6_windows_packs": {
        "seen": """
def keys_seen(p, left, right, cu_seqlens):
    end = cu_seqlens[-1]
    return (0 if left is None else max(0, p - left)), (end if right is None else min(end, p + right + 1))
""",
        "convention": "window = 4096",
        "hops": "def hops(window, rows, ranks):\n    return min(window // rows, ranks - 1)",
    },
    "7_which_method": {
        "bytes": """
def ring_bytes(ranks, rows, heads, kv_heads, head_dim):
    return 2 * 2 * (ranks - 1) * rows * heads * head_dim


def ulysses_bytes(ranks, rows, heads, kv_heads, head_dim):
    return 2 * (ranks - 1) * rows * (2 * heads + 2 * kv_heads) * head_dim // ranks
""",
        "crossing": "fewer_from = {32: 2, 8: 8, 2: 32}",
        "choice": 'slow_network = fast_network = {"method": "ring"}',
    },
    "8_your_ring": {
        "label": "def my_label(rank, step, ranks):\n    return (rank + step) % ranks",
        "factor": "def my_factor(old_max, new_max):\n    return np.exp(new_max - np.maximum(old_max, -1e300))",
        "home": "def my_home(rank, ranks):\n    return (rank - 1) % ranks",
    },
}
