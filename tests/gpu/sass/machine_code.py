"""Machine code as `nvdisasm -c` lists it, and three questions about the ways through it, for sass.py: which values may differ
from thread to thread, where threads that took different ways meet again, which instructions may have written a register.

Left out: the subroutines that a CALL enters (divisions, say); what they return counts as what was there before.
"""
import re
from dataclasses import dataclass, field

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P[T\d]+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
REGISTER = re.compile(r"R(\d+)(?:\.reuse)?$")
ENDS = ("EXIT", "RET", "BRX", "JMX")  # what nothing follows, unless it is predicated
NO_RESULT = ENDS + ("BAR", "BRA", "CALL", "WARPSYNC", "NANOSLEEP")
OF_THREADS = ("ATOM", "ATOMG", "ATOMS", "LDSM", "SHFL", "MATCH")  # results differ even if operands do not
RESULT_SECOND = ("LOP3", "SHFL", "ATOM", "ATOMG", "ATOMS", "MATCH", "VOTE")  # after a predicate


@dataclass
class Instruction:
    address: str
    guard: str  # "" or "@P0", "@!UP1"
    opcode: str
    operands: list
    before: list = field(default_factory=list)  # the places from which it is reached; None: it is the first
    after: list = field(default_factory=list)

    def base(self):
        return self.opcode.split(".")[0]

    def may_be_skipped(self):
        return self.guard not in ("", "@PT", "@UPT")

    def written(self):
        """The registers that it writes."""
        if self.base() in NO_RESULT or not self.operands:
            return range(0)
        first = REGISTER.match(self.operands[0])
        if not first and self.base() in RESULT_SECOND and len(self.operands) > 1:
            first = REGISTER.match(self.operands[1])
        return range(int(first[1]), int(first[1]) + self.width()) if first else range(0)

    def width(self):
        parts = self.opcode.split(".")
        if parts[0] == "HMMA" or "128" in parts or (parts[0] == "LDSM" and parts[-1] == "4"):
            return 4
        wide = "64" in parts or "WIDE" in parts or (parts[0] == "CS2R" and "32" not in parts)
        return 2 if wide or (parts[0] == "LDSM" and parts[-1] == "2") else 1

    def results(self):
        """How many operands, from the first on, it writes."""
        if self.base() in NO_RESULT or not self.operands or not re.match(r"U?[RP](\d|T|Z)", self.operands[0]):
            return 0
        count = 1
        while count < min(3, len(self.operands)) and re.match(r"U?P[\dT]", self.operands[count]):
            count += 1  # carries, and the second result of a comparison
        if self.operands[0].lstrip("U")[0] == "P":
            count = min(count, 2)
            if self.base() in RESULT_SECOND and len(self.operands) > 1 and REGISTER.match(self.operands[1]):
                count = 2
        return count

    def copied(self):
        """The register that it copies, or None."""
        if self.base() == "MOV" or self.opcode.startswith("IMAD.MOV") and self.operands[1:3] == ["RZ", "RZ"]:
            source = REGISTER.match(self.operands[-1] if self.base() != "MOV" else self.operands[1])
            return int(source[1]) if source else None
        return None


def kernels_of(listing):
    """Name -> instructions, with the ways between them."""
    kernels, labels, code = {}, {}, None
    for line in listing.split("\n"):
        section = re.match(r"\.text\.([\w$]+):", line.strip())
        label = re.match(r"(\.L_x_\d+):", line.strip())
        found = LINE.search(line)
        if section:
            code, labels = kernels.setdefault(section[1], ([], {}))
        elif label and code is not None:
            labels[label[1]] = len(code)
        elif found and code is not None:
            code.append(Instruction(found[1], found[2] or "", found[3], [o.strip() for o in found[4].split(",") if o.strip()]))
    for code, labels in kernels.values():
        for i, instruction in enumerate(code):
            after = set()
            if instruction.base() == "BRA":
                after.add(labels[re.search(r"\.L_x_\d+", instruction.operands[-1])[0]])
            always = not instruction.may_be_skipped() and not any(re.match(r"!?U?P\d", o) for o in instruction.operands)
            if not (always and instruction.base() in ENDS + ("BRA",)) and i + 1 < len(code):
                after.add(i + 1)
            instruction.after = sorted(after)
            for j in after:
                code[j].before.append(i)
        if code:
            code[0].before.append(None)  # the start
    return {name: code for name, (code, _) in kernels.items()}


def names(texts):
    """The registers and predicates in these texts, uniform ones among them."""
    return {name for text in texts for name in re.findall(r"\bU?[RP]\d+", text)}


def varying(code):
    """For each instruction, the registers and predicates before it that may differ from thread to thread: those that follow
    from the thread's index or lane, from memory at places that do, or from an exchange with other threads."""
    before = [None] * len(code)
    before[0], todo = frozenset(), [0]
    while todo:
        i = todo.pop()
        instruction, state = code[i], before[i]
        count = instruction.results()
        results = names(instruction.operands[:count])
        if registers := instruction.written():
            results |= {f"R{r}" for r in registers}
        sources = names(instruction.operands[count:] + [instruction.guard])
        own = instruction.base() in OF_THREADS or any(re.match(r"SR_(TID|LANEID)", operand) for operand in instruction.operands)
        if own or sources & state:
            state = state | results
        elif not instruction.may_be_skipped():
            state = state - results
        for j in instruction.after:
            joined = state | (before[j] or frozenset())
            if joined != before[j]:
                before[j] = joined
                todo.append(j)
    return before


def meetings(code):
    """For each instruction, those that every way from it to the end leads over, itself among them."""
    everything = (1 << len(code)) - 1
    over, changed = [everything] * len(code), True
    while changed:
        changed = False
        for i in reversed(range(len(code))):
            ways = everything if code[i].after else 0
            for j in code[i].after:
                ways &= over[j]
            if code[i].base() in ENDS:
                ways = 0
            if (ways | 1 << i) != over[i]:
                over[i], changed = ways | 1 << i, True
    return over


def writers(code, at, register):
    """Opcodes that may have written a register, as read by the instruction at this place; "" for none."""
    found, seen, todo = set(), set(), [(j, register) for j in code[at].before]
    while todo:
        place = todo.pop()
        if place in seen:
            continue
        seen.add(place)
        i, wanted = place
        if i is None:
            found.add("")
            continue
        writes = wanted in code[i].written()
        if writes and code[i].copied() is not None:
            todo += [(j, code[i].copied()) for j in code[i].before]
        elif writes:
            found.add(code[i].opcode)
        if not writes or code[i].may_be_skipped():
            todo += [(j, wanted) for j in code[i].before]
    return found
