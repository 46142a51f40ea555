"""Reads the pages and tables of the example class with real parsers: no text of a student has become markup, a formula or an
escape.

    python3 pages_parse.py WRITE_PAGES

WRITE_PAGES is the program that writes them."""
import csv
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

TAGS = set("""html head meta title style body header section article figure figcaption div span p h1 h2 h3 b i br a bdi code pre
    ul ol li table thead tbody tfoot tr th td details summary small""".split())
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "style"}
STYLE = re.compile(r"width:\d+\.\d%")
HREF = re.compile(r"(students/[\w.-]+\.html|alike/[\w.+-]+\.html)?(#e[\w.]+)?")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufffe\uffff\ufffd]")


class Page(html.parser.HTMLParser):
    """The text of a page, and its links; refuses tags and attributes that pages do not have."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.text, self.links, self.anchors, self.open = "", set(), set(), []
        self.feed(path.read_bytes().decode())
        self.close()
        assert not self.open, (path, self.open)

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name, value)
            assert name != "style" or STYLE.fullmatch(value), value
            if name == "href":
                assert HREF.fullmatch(value), value
                self.links.add(value)
            if name == "id":
                self.anchors.add(value)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def shown(name):
    """As C++ shows it: what misleads, and bytes that are no UTF-8, are '?'."""
    return UNSEEN.sub("?", name).replace("\t", "?").replace("\n", "?")


def read_html(folder, students):
    pages = {path.relative_to(folder).as_posix(): Page(path) for path in folder.rglob("*.html")}
    for name, page in pages.items():
        assert not UNSEEN.search(page.text), (name, UNSEEN.search(page.text))
        for link in page.links:
            file, _, anchor = link.partition("#")
            if not file.startswith("alike/"):
                assert not anchor or anchor in pages[file or name].anchors, (name, link)
    assert "<script>alert(1)</script>\" onmouseover='x' &amp;" in pages["students/html.html"].text
    assert "<script>alert(1)</script>\" onmouseover='..." in pages["class.html"].text
    assert "<b>merge</b>.cppHanded in late." in pages["students/html.html"].text.replace("\n", "")
    assert "<b>merge?[2J</b>.cpp: ungradable" in pages["students/html.html"].text
    assert "\"><script>?[2J.cpp was passed over" in pages["students/html.html"].text
    assert "\"><script>?[2J.cpp was passed over" in pages["class.html"].text
    assert "?[31m]]><script>alert(2)</script>" in pages["students/bidi.html"].text
    assert "<img src=x onerror=alert(3)>" in pages["students/grace.html"].text
    for own in students:
        text = pages[f"students/{own['key']}.html"].text
        for other in students:
            if other is not own:
                assert shown(other["name"]) not in text, (own["key"], other["key"])
                assert not re.search(rf"\b{other['key']}\b", text), (own["key"], other["key"])
    return len(pages)


def read_csv(path, students):
    text = path.read_bytes().decode()
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", "")
    rows = list(csv.reader(text.split("\r\n")[:-1], strict=True))
    assert {len(row) for row in rows} == {3 + 6 + 1 + 1 + 1}, rows
    for row, student in zip(rows[1:], students, strict=True):
        for cell in row:
            assert not re.match(r"\s*[=+\-@＝＋－＠]", cell), cell
        assert row[0] == student["key"] and float(row[-3]) == student["points"]
        for cell, result in zip(row[3:-3], student["results"], strict=True):
            assert cell == "" if result["state"] != "graded" else float(cell) == result["points"]
    assert rows[3][1] == "'=HYPERLINK(\"http://example.com\",\"full points\")"
    assert rows[11][1] == "'＝1+1 \uffff"
    return len(rows)


def read_xml(path, students):
    root = xml.etree.ElementTree.parse(path).getroot()
    counted = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite, student in zip(root, students, strict=True):
        assert suite.attrib["name"] == student["key"]
        cases = suite.findall("testcase")
        found = {"tests": len(cases), "failures": len(suite.findall("testcase/failure")),
                 "errors": len(suite.findall("testcase/error")), "skipped": len(suite.findall("testcase/skipped"))}
        for count, number in found.items():
            assert int(suite.attrib[count]) == number, (count, suite.attrib)
            counted[count] += number
    assert {count: int(root.attrib[count]) for count in counted} == counted
    names = [each.attrib["value"] for each in root.iterfind("testsuite/properties/property[@name='name']")]
    assert names[11].startswith("]]></system-out></testsuite><testcase name='ok'/>\t?\n"), names[11]
    assert names[10] == "＝1+1 ?", names[10]
    assert names[4] == "?]0;owned??[31mred ?? bytes", names[4]
    return counted["tests"]


def read_gradescope(folder, students):
    for student in students:
        results = json.loads((folder / f"{student['key']}.json").read_bytes().decode("ascii"))
        assert results["score"] == student["points"] == sum(test["score"] for test in results["tests"])
        assert sum(test["max_score"] for test in results["tests"]) == 72
        assert results["stdout_visibility"] == "hidden" and "leaderboard" not in results
        assert not UNSEEN.search(results["output"])
        for test in results["tests"]:
            assert test["status"] in ("passed", "failed") and test["visibility"] == ("hidden" if "layers" in test["tags"] else "visible")
            assert test["output_format"] == test["name_format"] == "text"
            assert len(test["output"]) < 10000 and not UNSEEN.search(test["output"])
        assert "8123456789012345678" not in json.dumps(results)
    return len(students)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.argv[1], name], check=True)
        students = json.loads((folder / "report.json").read_bytes().decode("ascii"))["students"]
        print(read_html(folder, students), "pages,", read_csv(folder / "gradebook.csv", students), "rows,",
              read_xml(folder / "junit.xml", students), "test cases,",
              read_gradescope(folder / "gradescope", students), "files for Gradescope")


main()
