"""Names of a class: many scripts, and some that are awkward for folders, tables and pages. None holds a '/'."""

import unicodedata

NAMES = [
    "Ada Lovelace", "José Muñoz", "Zoë Ångström", "Søren Kierkegård", "Łukasz Żółć", "Şebnem Çağlar", "Đặng Thị Hương",
    "Ελένη Παπαδοπούλου", "Наталья Щербакова", "Олексій Їжакевич", "محمد الخوارزمي", "שרה כהן", "प्रिया शर्मा", "தமிழ்ச்செல்வி ராமன்",
    "สมชาย ใจดี", "王小明", "李娜", "山田 太郎", "さくら", "김민준", "Նարեկ Հակոբյան", "ნინო ბერიძე", "አበበ በቂላ", "আয়েশা রহমান",
    "Seán O'Brien", "Mary-Jane Smith", "Jean-Luc d'Arc", "von der Leyen, Ursula", "X", "Null", "null", "ada lovelace",
    "=HYPERLINK(\"http:evil\",\"click\")", "+1 555 0100", "@everyone", "<b>Bold<b> & Co", "Robert'); DROP TABLE Students;--",
    "-fplugin=x.so", "--help", "two  blanks", "trailing dot.", "100%", "$HOME", "`id`", "a;b|c&d", "[brackets] {braces}",
    "back\\slash", "tab\there", "red \x1b[31mink\x1b[0m", "turned \u202eegap", "zero\u200bwidth", "con", "NaN", "0", "👩‍💻 Emoji",
    "name of more letters than any table has room for " + "and more " * 9, "ﬁ ligature", "Grace Hopper", "Alan Turing", "Emmy Noether",
]  # fmt: skip


def names(count):
    """So many names, all different; among 60 one that is written like another, in other code points."""
    first = [NAMES[0], NAMES[1], unicodedata.normalize("NFD", NAMES[1])]
    every = (first + NAMES[2:])[:count]
    return every + [f"Student {number}" for number in range(len(every) + 1, count + 1)]
