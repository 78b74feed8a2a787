"""Each decision note has a number of its own, says it in its title, and follows the last one."""

from __future__ import annotations

import re

from tests.architecture import tree

#: The files of the webhook client, which note 0002 counts the lines of.
CLIENT = """address_guard connector decompression errors http_* idle_pool lenient_* plain_request
redirects routes tls tls_sessions tunnel""".split()
NOTES = sorted((tree.REPOSITORY / "docs/decisions").glob("*.md"))


def test_decision_notes_are_numbered_one_after_the_other():
    numbers = [int(note.name[:4]) for note in NOTES]

    assert numbers == list(range(1, len(numbers) + 1))


def test_the_title_of_a_decision_note_begins_with_its_number():
    titles = {note.name: note.read_text(encoding="utf-8").splitlines()[0] for note in NOTES}

    assert [name for name, title in titles.items() if not title.startswith(f"# {name[:4]} ")] == []


def test_what_a_decision_note_refers_to_is_there():
    gone = [
        (note.name, target)
        for note in NOTES
        for target in re.findall(r"\]\(([^)#:]+\.md)", note.read_text(encoding="utf-8"))
        if not (note.parent / target).exists()
    ]

    assert gone == []


def test_the_lines_of_the_client_are_as_many_as_its_note_says():
    files = [path for name in CLIENT for path in (tree.REPOSITORY / "delivery").glob(f"{name}.py")]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    note = next(note for note in NOTES if note.name.startswith("0002"))
    said = re.search(r"About ([\d,]+) lines to keep", note.read_text(encoding="utf-8"))

    assert said is not None
    assert int(said[1].replace(",", "")) == round(lines, -2)
