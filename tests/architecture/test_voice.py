"""Shipped text has none of the words that leave open who does what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import tree

WORDS = (
    "somebody",
    "nobody",
    "whoever",
    "whatever",
    "so many",
    "so long as",
    "lets? go",
    "makes? up for",
    "stands? for",
    "no more",
)
_WORDS = re.compile(rf"\b(?:{'|'.join(WORDS)})\b".replace(" ", r"\s+"), re.IGNORECASE)
#: "No more than 125 %" is a bound.
_BOUND = re.compile(r"\bno\s+more\s+(?=than\b|of\b)", re.IGNORECASE)
_SUFFIXES = {".py", ".sql", ".lua", ".html", ".txt", ".js", ".md"}
#: Decision notes and released changes keep their words.
_OLD = ("docs/decisions/", "CHANGELOG.md")
#: Path -> how often it uses a word, and why.
ALLOWED: dict[str, tuple[int, str]] = {
    "docs/operations/accounts.md": (2, "the account nobody"),
    "launcher/privileges.py": (1, "the account nobody"),
}


def ids_in(text: str) -> list[str]:
    """Return the ids of requirements that a text names in parentheses; tests and docs may."""
    return re.findall(r"(?<=\s)\([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*\)", text)


def shipped() -> Iterator[Path]:
    """Yield the files whose text people read: code, templates, scripts, documentation."""
    yield from (path for path in tree.REPOSITORY.glob("*") if path.suffix in {".md", ".txt"})
    for folder in (*tree.production_packages(), "templates", "static", "docs"):
        for path in (tree.REPOSITORY / folder).rglob("*"):
            if path.suffix in _SUFFIXES and "migrations" not in path.parts:
                yield path


def words_in(text: str) -> list[str]:
    """Return the words of the list that a text uses."""
    return _WORDS.findall(_BOUND.sub("at most ", text))


def test_shipped_text_says_who_does_what():
    used = {
        path.relative_to(tree.REPOSITORY).as_posix(): words_in(path.read_text(encoding="utf-8"))
        for path in shipped()
    }

    found = [
        f"{name}: {', '.join(words)}"
        for name, words in used.items()
        if len(words) != ALLOWED.get(name, (0, ""))[0] and not name.startswith(_OLD)
    ]

    assert len(used) > 1000
    assert not found, tree.report(found)


def test_shipped_code_names_no_ids_of_requirements():
    folders = (*tree.production_packages(), "templates")
    found = [
        f"{path.relative_to(tree.REPOSITORY)}: {ids}"
        for path in shipped()
        if path.relative_to(tree.REPOSITORY).parts[0] in folders
        for ids in ids_in(path.read_text(encoding="utf-8"))
    ]

    assert not found, tree.report(found)


def test_an_id_of_a_requirement_is_found():
    assert ids_in("no database (C11). Bounds (F8, F12)") == ["(C11)", "(F8, F12)"]
    assert ids_in("RFC 9110 (section 5), X25519, F(1)") == []


@pytest.mark.parametrize(
    "text", ["Nobody waits.", "so\nmany rows", "It lets go.", "It fires no more.", "stand for"]
)
def test_a_word_of_the_list_is_found(text: str):
    assert words_in(text)


@pytest.mark.parametrize("text", ["no more than five", "No more of them", "antibody", "let it go"])
def test_other_words_are_left_alone(text: str):
    assert not words_in(text)
