"""Other appearances of a C++ file that mean the same (habits, copies), and one that no longer compiles."""

import re

WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = set(
    "auto bool break case catch char class const constexpr continue default delete do double else enum explicit false float "
    "for if inline int long namespace new noexcept nullptr operator private public return short signed sizeof static std "
    "struct switch template this throw true try typedef typename union unsigned using void while".split()
)
OTHER_NAMES = (
    "alpha beta gamma delta_ epsilon_ zeta eta theta kappa lambda_ mu nu xi omikron rho sigma tau upsilon phi chi psi omega "
    "first_one second_one third_one fourth_one value1 value2 value3 value4 tmp1 tmp2 tmp3 tmp4 helper1 helper2 helper3"
).split()
COMMENTS = [
    "// see the reading of this lesson",
    "// Vorsicht: die Reihenfolge zählt",
    "// здесь считаем по блокам",
    "// ここで最大値を更新する",
    "// TODO: ask in the office hour whether this can be shorter",
    "/* checked by hand for two keys */",
]


def without_comments(text):
    return re.sub(r"[ \t]*//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def names_of_its_own(text, known):
    """Variables that the text declares, and that are no word of `known`, in the order in which they come."""
    code = re.sub(r'"(\\.|[^"\n])*"|^\s*#.*', " ", without_comments(text), flags=re.M)
    foreign = KEYWORDS | set(WORD.findall(known))
    foreign |= set(re.findall(r"(?:\.|->|::)\s*([A-Za-z_]\w*)", code)) | set(
        re.findall(r"([A-Za-z_]\w*)\s*(?:\(|::|<)", code)
    )
    declared = re.findall(r"(?:[A-Za-z_]\w*|[>&*])\s*[&*]?\s+[&*]?([A-Za-z_]\w*)\s*(?:=(?!=)|;|:(?!:))", code)
    return [name for name in dict.fromkeys(declared) if name not in foreign]


def renamed(text, known, random):
    """The text with other names for its own variables; `known` holds names that must stay."""
    taken = set(WORD.findall(text)) | set(WORD.findall(known))
    free = [name for name in OTHER_NAMES if name not in taken]
    random.shuffle(free)
    new = dict(zip(names_of_its_own(text, known), free))
    lines = text.split("\n")
    return "\n".join(
        line if line.startswith("#") else WORD.sub(lambda word: new.get(word[0], word[0]), line) for line in lines
    )


def with_comments(text, random):
    """Other comments than before, between some of the statements."""
    lines = []
    for line in without_comments(text).split("\n"):
        if (
            re.match(r"\s+(for|if|const|return)\b", line)
            and (not lines or lines[-1].endswith((";", "{", "}")))
            and random.random() < 0.4
        ):
            lines.append(re.match(r"\s*", line)[0] + random.choice(COMMENTS))
        lines.append(line)
    return "\n".join(lines)


def with_tabs(text):
    return re.sub(r"^( {2})+", lambda blanks: "\t" * (len(blanks[0]) // 2), text, flags=re.M)


def with_braces_below(text):
    return re.sub(r"^([ \t]*)([^\n/]*\)) \{$", r"\1\2\n\1{", text, flags=re.M)


def with_windows_lines(text):
    return text.replace("\n", "\r\n")


def without_last_line_end(text):
    return text.rstrip("\n")


def loose(text):
    """Blanks at the ends of lines, and empty lines between."""
    return re.sub(r";\n", ";  \n\n", text)


STYLES = {
    "tabs": with_tabs,
    "braces below": with_braces_below,
    "lines of Windows": with_windows_lines,
    "no last line end": without_last_line_end,
    "loose": loose,
}


def in_style(text, known, random):
    """The name of a style, and the text in it, with other names and comments."""
    style = random.choice(sorted(STYLES))
    return style, STYLES[style](with_comments(renamed(text, known, random), random))


def copied(text, known, random):
    """The text as somebody hands it in who took it from somebody else, and lines that do nothing."""
    text = with_braces_below(with_comments(renamed(text, known, random), random))
    return re.sub(
        r"^(\s+)return\b", r"\1const int done_ = 1;\n\1static_cast<void>(done_);\n\1return", text, count=1, flags=re.M
    )


def broken(text, random):
    """The name of a slip of the pen, and the text with it: it does not compile."""
    body = re.search(r"^namespace ringcraft[\w:]* \{", text, re.M).start()
    slips = {
        "a semicolon is missing": lambda: re.sub(
            r"(\n +[\w:]+ [\w]+ = [^\n;]*);(?=\n +[\w&*])", r"\1", text[body:], count=1
        ),
        "a bracket is missing": lambda: text[body:].replace("\n  }\n", "\n", 1),
        "an unknown name": lambda: re.sub(
            r"\n}\n\n(?!.*\n}\n\n)", "\n  return resutl;\n}\n\n", text[body:], count=1, flags=re.S
        ),
    }
    for name in random.sample(sorted(slips), len(slips)):
        if (slipped := slips[name]()) != text[body:]:
            return name, text[:body] + slipped
    return "an unknown word", text[:body] + "nmaespace of_mine {}\n" + text[body:]
