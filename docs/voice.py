"""Refuses habits of speech in comments, messages, names of tests and pages that read as translated, and says what to write instead.

    python3 docs/voice.py --check [PATH ...]
Without a path it reads the whole tree, with paths only those files and folders; it exits 1 if it finds a habit. Code, exact
quotations of programs (`...`), quoted lines of Markdown (> ...) and others' submissions (tests/held_out) are left alone.
"""
import argparse
import bisect
import io
import pathlib
import re
import sys
import tokenize

import marks

TREE = ("README.md", "CMakeLists.txt", "docs", "kernels", "lessons", "ringcraft", "src", "tests")
SUBMISSIONS = ("tests/held_out/exercises", "tests/held_out/claims")
QUOTES_HABITS = {"docs/voice.py", "tests/house/voice_test.py"}
C_LIKE = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp"}
MADE = "<!-- (source|hint): "  # blocks that docs/embed.py copies from files that are read themselves
HEADINGS = {"What is given", "What to do", "What is judged"}  # of every side exercise
AGENTS = ("board|buffer|caller|check|checker|code|compiler|device|engine|executor|exercise|file|function|judge|kernel|launcher|"
          "library|method|page|parser|pass|peer|pool|process|program|rank|reader|receiver|ring|script|sender|server|step|"
          "stream|subject|test|thread|tile|tool|warp|worker|writer")

# (habit, what to write, pattern). A pattern meets a paragraph of words with single blanks.
EVERYWHERE = [
    ("behind", "past, after or beyond; for a cause, name it", r"\bbehind\b"),
    ("in place of", "instead of", r"\bin (?:the )?place of\b"),
    ("in vain", "say what happens: it never arrives, it times out", r"\bin vain\b"),
    ("for ever", "forever, or: and hangs", r"\bfor ever\b"),
    ("is counted why", "an active verb: counts the causes", r"\b(?:is|are|was|were|be|been) (?:\w+ly )?\w+(?:ed|en|wn|id|nd|ld) why\b"),
    ("a person for a program", "what the code does: reads no more, has exited, needs",
     rf"\b(?:the|a|an|no|each|every) (?:{AGENTS})s? (?:(?:is|are|was|were) gone|wants?|wanted|hopes?|knows best|likes?)\b"
     r"|\bnobody \w+ (?:\w+ )?any ?more\b|\bnobody is there\b"),
    ("road begins", "reference stage", r"\bwhere the road begins\b"),
    ("without a word", "with an empty what(); for silence: without a message", r"\bwithout a word\b"),
    ("one key late", "off by one: query i also sees key i+1", r"\b(?:one|a) (?:key|token|row|column|position|element) (?:too )?(?:late|early)\b"),
    ("thousand million", "billion", r"\bthousand million\b"),
    ("stands still", "stops growing, stops, makes no progress", r"\bstands? still\b|\bstood still\b"),
    ("whoever", "the caller, the thread that, code that", r"\bwhoever\b"),
    ("come so far", "that reaches N", r"\bhas come so far\b"),
]
OPENING = "What or Who opens a statement"
OPENING_ADVICE = "a noun or a verb first: 'Messages that a ring sends', 'The caller owns ...'"
HEAD = "a head that is one phrase and (see X)"
HEAD_ADVICE = "one plain sentence, or one thing that the header does not say"
START = re.compile(r"(?:^|(?<=[.!?:;] )|(?<=[.!?:;]\") |(?<=[(\"“*]))[*_\"“(]*(What|Who|Whose)\b(?!['’])")
LABELLED = re.compile(r"(?:[A-Z]\w*(?: \d+)?|\d{3}): (what|who|whose)\b")  # "Lesson 301: what an exchange must do."
ENDS = re.compile(r"[.?!](?=[\s\"”)*_<]|$)")
SEE_ONLY = re.compile(r"[^.]*\(see [\w./]+\.(?:hpp|cuh|h|py)\)\.?")


class Paragraph:
    """Words that belong together, and the line that each began on."""

    def __init__(self, kind="comment"):
        self.kind, self.text, self.starts, self.lines = kind, "", [], []

    def add(self, line, words):
        words = " ".join(words.split())
        if words:
            self.text += " " if self.text and not self.text.endswith(" ") else ""
            self.starts.append(len(self.text))
            self.lines.append(line)
            self.text += words

    def line_at(self, offset):
        return self.lines[max(bisect.bisect_right(self.starts, offset) - 1, 0)]


def of_lines(numbered, kind="comment"):
    """Paragraphs of the lines of a comment or a page: an empty line, an item, a table's line and a command end one."""
    result, current = [], Paragraph(kind)
    for line, words in numbered:
        bare = words.strip()
        if not bare or re.match(r"(?:[*+-] |\d+\. |\||[@\\](?:file|param|return|throws?|brief|note)\b|#+ |<)", bare):
            result.append(current)
            current = Paragraph("heading" if kind == "page" and bare.startswith("#") else kind)
        bare = re.sub(r"^(?:[*+-] |\d+\. |[@\\](?:file|param \w+|return|throws?(?: \w+)?|brief|note)\b|#+ )\s*", "", bare)
        for cell in bare.strip("|").split(" | ") if bare.startswith("|") else [bare]:
            current.add(line, cell)
            if bare.startswith("|"):
                result.append(current)
                current = Paragraph(kind)
        if current.kind == "heading":
            result.append(current)
            current = Paragraph(kind)
    return [each for each in result + [current] if each.text]


def joined_comments(comments):
    """Comments of one line each, (line, column, words): neighbours on following lines become one."""
    runs = []
    for line, column, words in comments:
        if runs and runs[-1][-1][0] == line - 1 and runs[-1][-1][1] == column:
            runs[-1].append((line, column, words))
        else:
            runs.append([(line, column, words)])
    return [each for run in runs for each in of_lines([(line, words) for line, _, words in run])]


C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|\n|[^\S\n]+|\w+|.', re.S)


def of_c(text):
    comments, result, literal, line, after = [], [], None, 1, ""
    name_of_test = False
    line_start, offset = 0, 0
    for token in C_TOKEN.finditer(text):
        word = token[0]
        column = token.start() - text.rfind("\n", 0, token.start())
        if word.startswith("//"):
            comments.append((line, column, re.sub(r"^//[/!]?<?", "", word)))
        elif word.startswith("/*"):
            lines = re.sub(r"\*/$", "", word[2:]).split("\n")
            result += of_lines([(line + i, re.sub(r"^\s*\*+(?=\s|$)", "", each)) for i, each in enumerate(lines)])
        elif word.startswith(('"', 'R"')) and not re.match(r"\s*#\s*include", text[text.rfind("\n", 0, token.start()) + 1:token.start()]):
            inside = re.sub(r'^R?"(?:[^(\s]*\()?|\)?[^)\s"]*"$', "", word) if word.startswith("R") else word[1:-1]
            if literal is None:
                literal = Paragraph("test" if name_of_test else "message")
            for i, each in enumerate(re.split(r"\n|\\n", inside)):
                literal.add(line + (i if word.startswith("R") else 0), re.sub(r"\\(.)", r"\1", each))
        elif word.strip():
            if literal is not None:
                result.append(literal)
                literal = None
            name_of_test = (word == "(" and after in ("TEST_CASE", "SUBCASE", "SCENARIO", "TEST_CASE_TEMPLATE"))
            after = word
        line += word.count("\n")
    return [each for each in joined_comments(comments) + result + ([literal] if literal else []) if each.text]


def of_python(text):
    comments, result, literal = [], [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.start[1], token.string.lstrip("#")))
        elif token.type == tokenize.STRING:
            inside = re.sub(r"^[a-zA-Z]*(\"\"\"|'''|\"|')(.*)\1$", r"\2", token.string, flags=re.S)
            if '"""' in token.string or "'''" in token.string:
                result += of_lines([(token.start[0] + i, each) for i, each in enumerate(inside.split("\n"))])
                continue
            if literal is None:
                literal = Paragraph("message")
            literal.add(token.start[0], inside.replace("\\n", " "))
        elif token.type not in (tokenize.NL, tokenize.NEWLINE) and literal is not None:
            result.append(literal)
            literal = None
    return [each for each in joined_comments(comments) + result + ([literal] if literal else []) if each.text]


def of_shell(text):
    """Comments and quoted words of shell and CMake."""
    comments, result = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*#(?!!)", line):
            comments.append((number, len(line) - len(line.lstrip()), line.strip().lstrip("#")))
            continue
        for match in re.finditer(r'"((?:\\.|[^"\\])*)"|\'([^\']*)\'|(?:^|\s)#\s(.*)', line):
            each = Paragraph("message")
            each.add(number, match[1] or match[2] or match[3] or "")
            result.append(each)
    return joined_comments(comments) + [each for each in result if each.text]


def of_page(text):
    numbered, fence, made = [], None, False
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            fence = None if mark and line.strip() == fence else fence
        elif re.match(MADE, line):
            made = True
        elif re.match(r"<!-- /(source|hint)", line):
            made = False
        elif not made and not line.lstrip().startswith(">"):
            numbered.append((number, re.sub(r"<!--.*?-->|</?(?:summary|details|b|i|sub|sup)>", " ", line)))
            continue
        numbered.append((number, ""))
    return of_lines(numbered, "page")


def of_edit(text):
    """A planted fault of tests/misconceptions: the comment above its first mark."""
    head = text.split("\n@@", 1)[0].split("\n")
    return joined_comments([(i, 0, re.sub(r"^// ?(?:\w+: |[A-Z]+\d+: )?", "\n", line)) for i, line in enumerate(head, 1) if line.startswith("//")])


def readers():
    return {**{suffix: of_c for suffix in C_LIKE}, ".py": of_python, ".sh": of_shell, ".cmake": of_shell, ".md": of_page, ".edit": of_edit}


def reader_of(path):
    if path.name in ("CMakeLists.txt", "ringcraft", "ringcraftConfig.cmake.in"):
        return of_shell
    return readers().get(path.suffix)


def findings(paragraphs, is_source=False):
    """(line, habit, advice) for each habit of these paragraphs; is_source: the first comment is the head of a .cpp or .cu."""
    result = []
    comments = sorted((each for each in paragraphs if each.kind == "comment"), key=lambda each: each.lines[0])
    if is_source and comments and comments[0].lines[0] == 1 and SEE_ONLY.fullmatch(comments[0].text):
        last = comments[0].lines[-1]
        if len(comments) == 1 or comments[1].lines[0] > last + 2:
            result.append((1, HEAD, HEAD_ADVICE))
    for each in paragraphs:
        text = re.sub(r"`[^`]*`", lambda match: "`" + "_" * (len(match[0]) - 2) + "`", each.text)
        for habit, advice, pattern in EVERYWHERE:
            result += [(each.line_at(match.start()), habit, advice) for match in re.finditer(pattern, text, re.I)]
        if each.kind == "heading" or text in HEADINGS:
            continue
        for match in [*START.finditer(text), *filter(None, [LABELLED.match(text)])]:
            end = ENDS.search(text, match.end())
            if end is None or end[0] != "?":
                result.append((each.line_at(match.start(1)), OPENING, OPENING_ADVICE))
        if each.kind == "test" and re.match(r"(?:\w+: )?(?:what|who|whose)\b", text):
            result.append((each.lines[0], OPENING, OPENING_ADVICE))
    return sorted(set(result))


def files_of(paths):
    """The files below these paths that have a reader, others' submissions left out."""
    for top in paths:
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            name = path.resolve().relative_to(marks.ROOT).as_posix() if path.resolve().is_relative_to(marks.ROOT) else path.name
            if path.is_file() and reader_of(path) and name not in QUOTES_HABITS and not name.startswith(SUBMISSIONS) and "__pycache__" not in name:
                yield path, name


def check(paths):
    """Prints the findings of these files and folders, and says how many there are."""
    count = files = 0
    for path, name in files_of(paths):
        files += 1
        text = path.read_text(encoding="utf-8")
        for line, habit, advice in findings(reader_of(path)(text), path.suffix in (".cpp", ".cu")):
            print(f"{name}:{line}: {habit}: write {advice}")
            count += 1
    print(f"{files} files: {count} habits" if count else f"{files} files speak plainly")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", required=True)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    given = parser.parse_args().paths
    return 1 if check(given or [marks.ROOT / name for name in TREE]) else 0


if __name__ == "__main__":
    sys.exit(main())
