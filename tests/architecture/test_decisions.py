"""Each decision note has a number of its own, says it in its title, and follows the last one."""

from __future__ import annotations

import re

from tests.architecture import tree

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
