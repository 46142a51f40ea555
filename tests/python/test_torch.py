"""PyTorch: gradients, types, rings over torch.distributed."""
import os
import socket

import pytest

torch = pytest.importorskip("torch")

import ringcraft  # noqa: E402
import ringcraft.torch  # noqa: E402
from ringcraft.testing import verify_distributed  # noqa: E402


def random(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("mask", [{}, {"causal": True}, {"window": (3, 1)}, {"cu_seqlens": [0, 4, 13], "causal": True}])
def test_gradcheck(mask):
    q, k, v = (random(2, heads, 13, 5, seed=heads).requires_grad_() for heads in (4, 2, 2))
    assert torch.autograd.gradcheck(lambda *x: ringcraft.torch.attention(*x, **mask), (q, k, v))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_it_is_right_in_every_type(dtype):
    found = ringcraft.verify(ringcraft.torch.attention, arrays="torch", dtype=dtype)
    assert found, str(found)


def test_pytorch_is_right():
    def sdpa(q, k, v, mask):
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    assert ringcraft.verify(sdpa, arrays="torch")


def plain(q, k, v, mask, softmax_scale):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (softmax_scale * q @ k.mT).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


def with_lse_of_half_scores(q, k, v, mask, softmax_scale):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.mT * softmax_scale).float().masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1).to(v.dtype) @ v).masked_fill(~mask.any(-1)[:, None], 0), scores.logsumexp(-1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_an_lse_of_half_scores_is_told(dtype):
    found = ringcraft.verify(with_lse_of_half_scores, arrays="torch", dtype=dtype, simplify=False, packed=False)
    assert found.cause is not None and found.cause.id == "solved-rounded-scores", str(found)
    assert "rounded to " + str(dtype).removeprefix("torch.") in found.cause.sentence, str(found)


def test_types_of_torch_are_those_of_its_tensors():
    for dtype in (torch.int8, "torch.float32"):
        with pytest.raises(ringcraft.Error, match="dtype: expected one of float64"):
            ringcraft.verify(plain, arrays="torch", dtype=dtype)
    with pytest.raises(ringcraft.Error, match='arrays: expected "torch" with dtype=torch.float32'):
        ringcraft.verify(plain, dtype=torch.float32)


def test_gradients_of_any_wrong_forward_pass_are_no_mistake_of_backward():
    def own_block_only(q, k, v, causal, softmax_scale, problem):
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        outs = []
        for rank in range(problem.ranks):
            rows = torch.as_tensor(problem.positions(rank))
            scores = q[:, :, rows] @ k[:, :, rows].mT * softmax_scale
            if causal:
                scores = scores.masked_fill(rows[:, None] < rows, -torch.inf)
            outs.append(scores.softmax(-1) @ v[:, :, rows])
        return outs

    class TwiceInBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, dx):
            return 2 * dx

    def verified(function):
        return ringcraft.verify(function, arrays="torch", ranks=3, results="shards", windows=False, packed=False,
                                dtype="float64", simplify=False)

    found = verified(own_block_only)
    assert found.cause is not None and found.cause.id == "RF-own-only", str(found)
    assert all("the gradients are those of this wrong forward pass" in verdict.text for verdict in found.wrong)
    twice = verified(lambda q, k, v, causal, softmax_scale, problem: own_block_only(
        q, k, TwiceInBackward.apply(v), causal, softmax_scale, problem))
    assert not any("the gradients are those of this wrong forward pass" in verdict.text for verdict in twice.wrong)


def test_a_mask_that_is_scaled_is_told():
    def sdpa(q, k, v, causal, softmax_scale):
        scores = (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT)
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=bool).triu(1), -torch.inf)
        return (scores * softmax_scale).softmax(-1) @ v.repeat_interleave(q.shape[1] // v.shape[1], 1)

    found = ringcraft.verify(sdpa, arrays="torch", simplify=False)
    assert 0 < len(found.wrong) < 5 and found.cause is not None and found.cause.id == "mask-scaled", str(found)


def test_a_module_is_called_as_its_forward():
    class Plain(torch.nn.Module):
        def forward(self, q, k, v, mask, softmax_scale):
            return plain(q, k, v, mask, softmax_scale)

    assert ringcraft.verify(Plain(), arrays="torch", packed=False, windows=False)


def test_gradients_that_the_function_returns_are_those_that_are_judged():
    def own(q, k, v, mask, softmax_scale):
        return {"out": plain(q, k, v, mask, softmax_scale), "dq": torch.zeros_like(q)}

    found = ringcraft.verify(own, arrays="torch", simplify=False, packed=False, windows=False)
    assert len(found.wrong) > 20 and "dq is zero everywhere" in str(found)


def test_gradients_of_a_wrong_forward_pass_are_told_without_its_lse():
    def unscaled(q, k, v):
        return plain(q, k, v, torch.ones(1, dtype=bool), 1.0)

    found = ringcraft.verify(unscaled, arrays="torch", dtype="float64", simplify=False, grouped=False)
    assert found.cause is not None and found.cause.id == "BL5"
    assert "the gradients are those of this wrong forward pass: nothing more is wrong in backward" in str(found)


def test_tensors_go_in_and_come_out():
    q, k, v = random(3, 1, 2, 9, 4, dtype=torch.float32)
    out = ringcraft.attention(q, k, v)
    assert isinstance(out, torch.Tensor) and not out.requires_grad
    half = ringcraft.attention(*(x.bfloat16() for x in (q, k, v)))
    assert half.dtype == torch.bfloat16
    shards = ringcraft.scatter(q, 2)
    assert torch.equal(ringcraft.gather(shards), q)


def test_what_has_no_gradient_is_not_asked_for_one():
    q, k, v = random(3, 1, 2, 9, 4, dtype=torch.float32)
    q.requires_grad_()
    with pytest.raises(ringcraft.Error, match="dout: expected a tensor that requires no gradient"):
        ringcraft.attend(k, k, v, q, ranks=2)
    for call in (lambda: ringcraft.attention(k, q, v), lambda: ringcraft.attend(k, q, v, ranks=2)):
        with pytest.raises(ringcraft.Error, match="k: expected a tensor that requires no gradient"):
            call()
        with torch.no_grad():
            call()
    assert torch.equal(ringcraft.attention(q.detach(), k, v), ringcraft.torch.attention(q, k, v))


def test_tensors_of_other_kinds_are_refused():
    q = random(1, 2, 9, 4)
    for call, said in ((lambda: ringcraft.torch.attention(q, q, q.tolist()), "v: expected a tensor of PyTorch, got list"),
                       (lambda: ringcraft.torch.attention(q, q.half(), q), "k: expected torch.float64, as q, got torch.float16"),
                       (lambda: ringcraft.attention(q, q.float().bfloat16(), q), "k: expected float64, as q, got bfloat16"),
                       (lambda: ringcraft.attention(q.to("meta"), q, q), "q: expected plain numbers in the memory of the CPU")):
        with pytest.raises(ringcraft.Error, match=said):
            call()


def test_a_negative_view_is_read_as_its_numbers():
    q = random(1, 2, 9, 4)
    negative = torch._neg_view(q)  # as z.conj().imag is one: its signs stand in a flag
    for attention in (ringcraft.attention, ringcraft.torch.attention):
        assert torch.equal(attention(negative, q, q), attention(-q, q, q))


def detached(name):
    """Attention through which one of q, k, v gets no gradient."""
    def attention(q, k, v):
        given = {"q": q, "k": k, "v": v}
        return ringcraft.torch.attention(**{**given, name: given[name].detach()})

    return attention


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_a_gradient_that_does_not_come_is_wrong(name):
    found = ringcraft.verify(detached(name), arrays="torch", simplify=False)
    assert not found and "out, dq, dk, dv" in found.example.text


def test_what_has_no_gradients_at_all_is_judged_without():
    def mine(q, k, v):
        return ringcraft.torch.attention(q, k, v).detach()

    found = ringcraft.verify(mine, arrays="torch")
    assert found and "(out)\nno gradient leads from its out to q, k and v, so that none was judged" in str(found)
    assert str(ringcraft.verify(mine, arrays="torch", gradients=False)).endswith("(out)")
    assert str(ringcraft.verify(lambda q, k, v: {"lse": ringcraft.torch.attention(q, k, v, return_lse=True)[1]},
                                arrays="torch")).endswith("(lse)")


def test_a_rank_without_gradients_is_wrong():
    def shards(q, k, v):
        out = ringcraft.scatter(ringcraft.torch.attention(q, k, v), 2, "contiguous")
        return [out[0], out[1].detach()]

    found = ringcraft.verify(shards, arrays="torch", ranks=2, results="shards", simplify=False)
    assert not found and "dq" in found.example.data["judged"]


def merged_by(weights):
    """A ring of three ranks whose blocks are merged by weights(lse, lse of the block), differentiated by autograd."""
    def ring(q, k, v, causal, softmax_scale):
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        outs = []
        for rank, rows in enumerate(torch.arange(q.shape[2]).tensor_split(3)):
            out, lse = None, None
            for step in range(3):
                keys = torch.arange(q.shape[2]).tensor_split(3)[rank - step]
                seen = torch.ones(len(rows), len(keys), dtype=torch.bool) if not causal else keys <= rows[:, None]
                if step > 0 and not seen.any():
                    continue
                scores = (softmax_scale * q[:, :, rows] @ k[:, :, keys].mT).masked_fill(~seen, -torch.inf)
                block_lse = scores.logsumexp(-1, keepdim=True)
                block = torch.exp(scores - block_lse) @ v[:, :, keys]
                if out is None:
                    out, lse = block, block_lse
                else:
                    old, new = weights(lse, block_lse)
                    out, lse = old * out + new * block, torch.logaddexp(lse, block_lse)
            outs.append(out)
        return torch.cat(outs, 2)

    return ring


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digits_lost_in_one_minus_a_weight_are_told(dtype):
    def lossy(old, new):
        weight = torch.sigmoid(new - old)
        return 1 - weight, weight

    def careful(old, new):
        return (torch.exp(x - torch.logaddexp(old, new)) for x in (old, new))

    options = dict(arrays="torch", dtype=dtype, ranks=3, layout="contiguous", simplify=False)
    assert ringcraft.verify(merged_by(careful), **options)
    found = ringcraft.verify(merged_by(lossy), **options)
    assert found.wrong and found.cause.id == "solved-cancelled-weights" and len(found.agreeing()) == len(found.wrong), str(found)


def on_ranks(work, ranks):
    """Runs work(rank) in a process of its own for each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_rank, (ranks, port, work), nprocs=ranks)


def _rank(rank, ranks, port, work):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    work(rank)
    torch.distributed.destroy_process_group()


def module(problem, **options):
    mask = problem.mask
    return ringcraft.torch.RingAttention(layout=problem.layout, causal=mask.right == 0, window=(mask.left, mask.right),
                                         softmax_scale=problem.softmax_scale, **options)


def all_methods(rank):
    for options in ({"method": "ring"}, {"method": "all-gather"}, {"method": "double-ring", "node": 3}):
        def ring(q, k, v, problem, options=options):
            return module(problem, **options)(q, k, v, seqlen=problem.seqlen, cu_seqlens=problem.mask.cu_seqlens or None)
        found = verify_distributed(ring, layout="zigzag", dtype="float64")
        assert found and found.verdicts[0].data["judged"] == ["out", "dq", "dk", "dv"], str(found)


def a_wrong_ring(rank):
    def ring(q, k, v, problem):
        return ringcraft.torch.RingAttention(layout=problem.layout, causal=False)(q, k, v)

    found = verify_distributed(ring, layout="contiguous", dtype="float64", windows=False, packed=False, simplify=False)
    assert not found
    assert found.cause is not None and "mask" in found.cause.sentence, str(found)


def an_exception_on_one_rank(rank):
    def ring(q, k, v, problem):
        if rank == 1:
            raise IndexError("off the end")
        return q

    case = ringcraft.Case(ringcraft.Problem(9, 1, 4, ranks=3), seed=1)
    found = verify_distributed(ring, cases=[case])
    assert not found and "on rank 1" in str(found) and "off the end" in str(found)


def an_exception_while_the_others_wait(rank):
    def ring(q, k, v):
        if rank == 1:
            raise IndexError("off the end")
        torch.distributed.recv(torch.empty(1), 1)  # what it never sends

    ringcraft.testing.PATIENCE = 2
    case = ringcraft.Case(ringcraft.Problem(9, 1, 4, ranks=3), seed=1)
    if rank == 1:
        with pytest.raises(ringcraft.Error, match="expected the other ranks after its exception, got none"):
            verify_distributed(ring, cases=[case])
        os._exit(0)  # as a program that ends by this error: the others lose their connection
    with pytest.raises(RuntimeError):
        verify_distributed(ring, cases=[case])
    os._exit(0)


def inputs_that_change(rank):
    q, k, v = (random(1, 2, 4, 8, seed=seed) for seed in range(3))
    q.requires_grad_()
    for change, allowed in ((lambda: None, True), (lambda: k.zero_(), True), (lambda: q.zero_(), False)):
        out = ringcraft.torch.RingAttention(layout="contiguous")(q, k, v, seqlen=12)
        with torch.no_grad():
            change()
        if allowed:
            out.sum().backward()
        else:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                out.sum().backward()


@pytest.mark.parametrize("work", [all_methods, a_wrong_ring, an_exception_on_one_rank,
                                  an_exception_while_the_others_wait, inputs_that_change])
def test_ranks_of_torch_distributed(work):
    on_ranks(work, 3)


def test_rings_of_ranks_give_their_memory_back():
    """A graph that is dropped without a backward pass drops what the library saved for it."""
    on_ranks(many_forwards, 2)


def many_forwards(rank):
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    ring = ringcraft.torch.RingAttention(causal=True)
    q, k, v = random(3, 1, 2, 512, 16, dtype=torch.float32).requires_grad_()
    for _ in range(20):
        ring(q, k, v, seqlen=1024)
    begin = resident()
    for _ in range(200):
        ring(q, k, v, seqlen=1024)
    assert resident() - begin < 4 << 20


def test_pytorch_takes_turns():
    from ringcraft.torch import compare_sdpa

    before = torch.get_num_threads()
    found = compare_sdpa(heads=2, tokens=96, head_dim=16, threads=[1, 2], rounds=3)
    assert torch.get_num_threads() == before
    assert [(row.backward, row.threads) for row in found.rows] == [(False, 1), (True, 1), (False, 2), (True, 2)]
    for row in found.rows:
        assert len(row.ours) == len(row.theirs) == 3 and min(row.ours + row.theirs) > 0
        assert row.ratio == sorted(theirs / ours for ours, theirs in zip(row.ours, row.theirs))[1]
    assert str(found).startswith(f"PyTorch {torch.__version__.split('+')[0]}, ")
    assert "float32 [1, 2, 96, 16], causal" in str(found)
    with pytest.raises(ringcraft.Error, match="at least 2 rounds"):
        compare_sdpa(rounds=1)


def test_the_times_are_those_of_attention():
    """Orders of `./ringcraft bench` are answered by PyTorch's attention, with the shape and the mask that they name."""
    import io

    from ringcraft import _sdpa

    asked, given = [], _sdpa.sdpa
    threads = torch.get_num_threads()

    def recorded(q, k, v, is_causal):
        asked.append((tuple(q.shape), is_causal, q.requires_grad, torch.get_num_threads()))
        return given(q, k, v, is_causal=is_causal)

    answers = io.StringIO()
    _sdpa.sdpa = recorded
    try:
        _sdpa.serve(["0 1 12 8 0 1\n", "1 2 12 8 1 2\n"], answers)
    finally:
        _sdpa.sdpa = given
        torch.set_num_threads(threads)
    version, *lines = answers.getvalue().splitlines()
    assert version == _sdpa.version()
    assert asked == [((1, 1, 12, 8), False, False, 1), ((1, 2, 12, 8), True, True, 2)]
    assert all(float(number) >= 0 for line in lines for number in line.split()) and len(lines) == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_attention_that_rounds_its_scores_is_right(dtype):
    """Also where they are so large that rounding chooses the key."""
    def naive(q, k, v, mask, softmax_scale):
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        wide = dtype == "bfloat16"  # float16 would overflow before its factor
        scores = q @ k.mT * softmax_scale if wide else (q * softmax_scale) @ k.mT
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1).nan_to_num() @ v

    found = ringcraft.verify(naive, arrays="torch", dtype=dtype)
    assert found, str(found)
    huge = [case for case in ringcraft.case_table(True) if case.data == "huge"][:40]
    found = ringcraft.verify(naive, arrays="torch", dtype=dtype, cases=huge)
    assert len(huge) == 40 and found, str(found)


@pytest.mark.parametrize(("change", "said"), [
    (lambda q, k, v: (q.int(), k.int(), v.int()), "q: expected float64, .* got torch.int32"),
    (lambda q, k, v: (q.to(torch.complex64), k, v), "q: expected float64, .* got torch.complex64"),
    (lambda q, k, v: (q.bfloat16(), k, v), "k: expected torch.bfloat16, as q, got torch.float64"),
    (lambda q, k, v: (q, k.numpy(), v), "k: expected a tensor of PyTorch, got ndarray"),
    (lambda q, k, v: (q.tolist(), k, v), "q: expected a tensor of PyTorch, got list"),
    (lambda q, k, v: (q.to("meta"), k, v), "q: expected plain numbers .* got torch.Tensor of torch.float64"),
    (lambda q, k, v: (q.to_sparse(), k, v), "q: expected plain numbers .* convert the array first"),
])
def test_wrong_tensors_are_refused(change, said):
    with pytest.raises(ringcraft.Error, match=said):
        ringcraft.torch.attention(*change(*random(3, 1, 2, 9, 4)))


def test_a_tensor_without_numbers_is_refused():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode() as mode, pytest.raises(ringcraft.Error, match="q: expected an array"):
        q = mode.from_tensor(random(1, 2, 9, 4))
        ringcraft.attention(q, q, q)


def test_classes_that_derive_from_tensor_are_tensors():
    class Mine(torch.Tensor):
        pass

    q = random(1, 2, 9, 4)
    assert torch.equal(ringcraft.attention(q.as_subclass(Mine), q, q), ringcraft.attention(q, q, q))
    with pytest.raises(ringcraft.Error, match="q: expected a tensor that requires no gradient"):
        ringcraft.attention(q.clone().requires_grad_().as_subclass(Mine), q, q)


def test_second_derivatives_are_refused():
    """They would be missing in a sum with others, and nobody would know."""
    q = random(1, 2, 9, 4).requires_grad_()
    with pytest.raises(ringcraft.Error, match="differentiated again, got create_graph=True"):
        torch.autograd.grad(ringcraft.torch.attention(q, q, q).sum(), q, create_graph=True)


@pytest.mark.parametrize(("options", "said"), [
    ({"layout": "zig"}, "layout: expected one of"), ({"axes": "bhs"}, "axes"), ({"window": (1, 2, 3)}, "window"),
    ({"method": "rng"}, "method: expected one of"), ({"is_causal": True}, "RingAttention: expected causal=, got is_causal")])
def test_a_module_refuses_its_options_when_it_is_made(options, said):
    with pytest.raises(ringcraft.Error, match=said):
        ringcraft.torch.RingAttention(**options)
