"""How a class lies in a folder: plain, or as Canvas, Moodle, Gradescope and GitHub Classroom export it.

    plain       NAME/104_merge/merge.cpp, NAME/attempt-2/104_merge/merge.cpp; some as NAME.zip or NAME.tar.gz
    canvas      lovelaceada_LATE_12345_67890_merge-1.cpp, all files in one folder
    moodle      Ada Lovelace_12345_assignsubmission_file_/merge.cpp, merge-1.cpp
    gradescope  submission_12345/merge.cpp, merge-1.cpp; names and times in submission_metadata.yml
    classroom   ring-attention-ada-lovelace/exercises/104_merge/merge.cpp, .git

Each writer takes the folder, the number of a student, a name, and files: (lesson, attempt from 0, late, bytes). It returns
what the export calls the student.
"""

import gzip
import io
import re
import tarfile
import unicodedata
import zipfile

FORMS = ("plain", "canvas", "moodle", "gradescope", "classroom")


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def numbered(lesson, attempt):
    stem, dot, ending = lesson.file.rpartition(".")
    return f"{stem}-{attempt}{dot}{ending}" if attempt else lesson.file


def plain_path(lesson, attempt):
    return (f"attempt-{attempt + 1}/" if attempt else "") + f"{lesson.folder}/{lesson.file}"


def zip_of(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for lesson, attempt, _, content in files:
            archive.writestr(zipfile.ZipInfo(plain_path(lesson, attempt)), content)
    return data.getvalue()


def tar_of(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for lesson, attempt, _, content in files:
            entry = tarfile.TarInfo(plain_path(lesson, attempt))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(data.getvalue(), mtime=0)


def plain(out, number, name, files, archives=True):
    if archives and number % 12 == 5:
        write(out / f"{name}.zip", zip_of(files))
    elif archives and number % 12 == 10:
        write(out / f"{name}.tar.gz", tar_of(files))
    else:
        (out / name).mkdir()
        for lesson, attempt, _, content in files:
            write(out / name / plain_path(lesson, attempt), content)
        if number % 7 == 3:
            write(out / name / "__MACOSX/._merge.cpp", b"\0\5\26\7")
            write(out / name / ".DS_Store", b"\0\0\0\1Bud1")
            write(out / name / "notes.txt", b"finish 104 before Friday\n")
    return name


def canvas(out, number, name, files):
    words = name.split()
    squashed = "".join(letter for letter in "".join(words[-1:] + words[:-1]).lower() if letter.isalnum())
    squashed = squashed[:40] or "student"
    for at, (lesson, attempt, late, content) in enumerate(files):
        mark = "LATE_" if late else ""
        write(out / f"{squashed}_{mark}{20000 + number}_{700000 + 100 * number + at}_{numbered(lesson, attempt)}", content)
    return squashed


def moodle(out, number, name, files):
    folder = out / f"{name}_{300000 + number}_assignsubmission_file_"
    folder.mkdir()
    for lesson, attempt, _, content in files:
        write(folder / numbered(lesson, attempt), content)
    return name


def gradescope(out, number, name, files):
    folder = f"submission_{40000000 + number}"
    (out / folder).mkdir()
    for lesson, attempt, _, content in files:
        write(out / folder / numbered(lesson, attempt), content)
    quoted = name.replace("'", "''")
    entry = (
        f"{folder}:\n  :submitters:\n  - :name: '{quoted}'\n    :sid: '{5000 + number}'\n    :email: s{number}@example.edu\n"
        f"  :created_at: 2026-05-04 12:{number % 60:02}:00.000000000 Z\n  :score: 0.0\n  :status: processed\n"
    )
    with open(out / "submission_metadata.yml", "a", encoding="utf-8", newline="") as metadata:
        metadata.write(("" if metadata.tell() else "---\n") + entry)
    return name


def classroom(out, number, name, files):
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    login = re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-")[:30]
    repository = f"ring-attention-{login or 'student'}-{number}"
    write(out / repository / ".git/HEAD", b"ref: refs/heads/main\n")
    write(out / repository / "README.md", b"# Ring attention\n")
    for lesson, attempt, _, content in files:
        write(out / repository / "exercises" / lesson.folder / numbered(lesson, attempt), content)
    return repository
