"""Reads the machine code of kernels for what their source promises. Needs no GPU.

    sass.py LISTING      what `nvdisasm -c` says of them
    barriers  no BAR.SYNC has a predicate that may differ between threads, and none stands on one way of a branch that has,
              before the ways meet again;
    copies    each LDGSTS (cp.async) has a predicate that says whether it reads memory, and so has, in kernels with HMMA,
              each load of 16 bits or 16 bytes: what it reads may lie past the end of a tile;
    products  each register of an operand of HMMA was written by LDSM (ldmatrix) or, of operand A, by F2FP (two numbers
              rounded to bf16), whichever way led there, through moves of registers too;
    counts    in the kernels of PRODUCTS, there are as many HMMA of each kind as the unrolled loops of the source have,
              or the compiler has repeated all of them equally often.
Prints what does not hold, and how much it has looked at. Exit code: 0 all of it holds, 1 something does not.
"""
import re
import sys
from collections import Counter

from machine_code import ENDS, REGISTER, kernels_of, meetings, names, varying, writers


def parting(code, differs):
    """The branches on which threads may part: the place of each, and the places on its ways until they meet again."""
    over = meetings(code)
    for i, instruction in enumerate(code):
        branches = instruction.base() in ENDS + ("BRA",) and instruction.after and differs[i] is not None
        if not branches or not names([instruction.guard] + instruction.operands) & differs[i]:
            continue
        seen, todo = set(), list(instruction.after)
        while todo:
            j = todo.pop()
            if j not in seen and not over[i] >> j & 1:
                seen.add(j)
                todo += code[j].after
        yield i, seen


def barriers(code, differs, branches):
    """Sentences about barriers that not all threads may reach together."""
    places = [i for i, instruction in enumerate(code) if instruction.opcode.startswith("BAR.SYNC")]
    for i in places:
        if names([code[i].guard]) & (differs[i] or set()):
            yield f"{code[i].address}: {code[i].guard} {code[i].opcode}: a barrier that some threads may skip"
    for i, ways in branches:
        for j in sorted(ways.intersection(places)):
            yield f"{code[j].address}: {code[j].opcode}: a barrier on one way of {code[i].guard} {code[i].opcode} at {code[i].address}"


def copies(code):
    """Sentences about reads that may lie past an end."""
    multiplies = any(instruction.base() == "HMMA" for instruction in code)
    for instruction in code:
        parts = instruction.opcode.split(".")
        asynchronous = parts[0] == "LDGSTS"
        of_a_tile = multiplies and parts[0] == "LDG" and {"U16", "S16", "128"} & set(parts)
        says = instruction.may_be_skipped() or (asynchronous and re.match(r"!?U?P\d", instruction.operands[-1]))
        if (asynchronous or of_a_tile) and not says:
            yield f"{instruction.address}: {instruction.opcode} reads in any case"


def kind_of_operand(code, at, operand, registers):
    """The opcodes that wrote these registers: LDSM, LDSM.T (transposed), F2FP or, of anything else, all names."""
    if not (first := REGISTER.match(operand)):
        return operand
    written = set().union(*(writers(code, at, int(first[1]) + r) for r in range(registers)))
    kinds = {"LDSM.T" if opcode.startswith("LDSM") and "MT88" in opcode else "LDSM" if opcode.startswith("LDSM")
             else "F2FP" if opcode.startswith("F2FP.BF16") else opcode or "nobody" for opcode in written}
    return "/".join(sorted(kinds))


def products(code):
    """The kinds of all HMMA: who wrote A, who wrote B -> how many."""
    kinds = Counter()
    for i, instruction in enumerate(code):
        if instruction.base() == "HMMA":
            kinds[kind_of_operand(code, i, instruction.operands[1], 4), kind_of_operand(code, i, instruction.operands[2], 2)] += 1
    return kinds


# Scores: two ldmatrix. Weights times rows: P or dS from registers, the rows transposed. dS k: both transposed.
SCORES, WEIGHTED, DS_K = ("LDSM", "LDSM"), ("F2FP", "LDSM.T"), ("LDSM.T", "LDSM.T")
ALLOWED = (SCORES, WEIGHTED, DS_K)


def of_forward(head_dim, keys=64):
    return {SCORES: head_dim // 16 * keys // 8, WEIGHTED: keys // 16 * head_dim // 8}


def of_backward(head_dim, others, weighted):
    """Two steps of 16 columns of S and of dP are unrolled (kUnroll of backward/weights.cuh)."""
    return {SCORES: 2 * 2 * others // 8, WEIGHTED: weighted * (others // 16 * head_dim // 8)}


def of_fused(head_dim):
    """One step of 16 keys of dS k, of 64 columns (multiply_ds_k)."""
    return {**of_backward(head_dim, 64 if head_dim == 64 else 32, 2), DS_K: 8}


# Kernel -> HMMA of each kind, from its template arguments.
PRODUCTS = {
    "tensor_core_kernel": of_forward,
    "pipeline_kernel": of_forward,
    "dq_kernel": lambda head_dim, others: of_backward(head_dim, others, 1),
    "dkdv_kernel": lambda head_dim, others: of_backward(head_dim, others, 2),
    "fused_kernel": of_fused,
}


def own_name(mangled):
    """A kernel's name and the numbers among its template arguments: ("pipeline_kernel", [64, 32])."""
    name, rest = mangled, mangled.removeprefix("_Z").removeprefix("N")
    while found := re.match(r"\d+", rest):
        name, rest = rest[found.end():][:int(found[0])], rest[found.end() + int(found[0]):]
    arguments = re.match(r"I((?:Li\d+E)+)", rest)
    return name, [int(number) for number in re.findall(r"\d+", arguments[1])] if arguments else []


def counts(name, arguments, kinds):
    """Sentences about products of a kind that no source has, and about how many there are."""
    for kind, count in kinds.items():
        if kind not in ALLOWED:
            yield f"{count} HMMA with A from {kind[0]}, B from {kind[1]}"
    if name in PRODUCTS and kinds:
        expected = PRODUCTS[name](*arguments)
        times = max(1, min(kinds[kind] // count for kind, count in expected.items()))
        for kind in sorted(set(expected) | set(kinds) & set(ALLOWED)):
            if kinds[kind] != times * expected.get(kind, 0):
                yield f"{kinds[kind]} HMMA with A from {kind[0]}, B from {kind[1]}, expected {times * expected.get(kind, 0)}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        kernels = kernels_of(file.read())
    looked, wrong = Counter(), []
    for mangled, code in kernels.items():
        name, arguments = own_name(mangled)
        kinds, differs = products(code), varying(code)
        branches = list(parting(code, differs))
        title = f"{name}<{', '.join(map(str, arguments))}>" if arguments else name
        found = [*barriers(code, differs, branches), *copies(code), *counts(name, arguments, kinds)]
        wrong += [f"{title}: {sentence}" for sentence in found]
        looked.update(instructions=len(code), branches=len(branches), HMMA=sum(kinds.values()))
        looked.update(what for instruction in code for what in ("BAR.SYNC", "LDGSTS", "LDG.") if instruction.opcode.startswith(what))
    print("\n".join(wrong + [
        f"{len(kernels)} kernels, {looked['instructions']} instructions: {looked['BAR.SYNC']} barriers, {looked['branches']} branches "
        f"on which threads may part, {looked['LDGSTS']} asynchronous copies, {looked['LDG.']} loads, {looked['HMMA']} products"]))
    return 1 if wrong or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
