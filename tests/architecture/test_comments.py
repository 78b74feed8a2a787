"""Comments answer why; waivers give their reason; no path of one machine is in a file."""

from __future__ import annotations

import pytest

from tests.architecture import tree
from tests.architecture.rules import comments

_TEXTS = ("*.py", "*.sql", "*.lua", "*.md", "*.html", "*.toml", "*.txt", "*.js", "*.css")
# The rule's own samples.
_SAMPLES = "tests/architecture/test_comments.py"


def test_comments_say_why_and_waivers_give_reasons():
    modules = (module for module in tree.modules(*tree.packages()) if not module.is_migration)

    found = tree.breaches(modules, comments.comments)

    assert not found, tree.report(found)


def test_no_file_names_a_path_of_one_machine():
    folders = [*tree.packages(), "docs", "templates", "static"]
    paths = [
        *(path for pattern in _TEXTS for path in tree.REPOSITORY.glob(pattern)),
        *(
            path
            for folder in folders
            for pattern in _TEXTS
            for path in (tree.REPOSITORY / folder).rglob(pattern)
        ),
    ]

    found = [
        f"{name}: {breach}"
        for path in paths
        if (name := path.relative_to(tree.REPOSITORY).as_posix()) != _SAMPLES
        for breach in comments.machine_paths(path.read_text(encoding="utf-8"))
    ]

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "comment",
    [
        "# TODO: later",
        "# see issue 12",
        "# fixed in #12",
        "x = 1  # noqa",
        "x = 1  # noqa: S104",
        "x = 1  # type: ignore",
        "x = 1  # type: ignore[misc]",
    ],
)
def test_the_rule_refuses_a_comment(comment: str):
    assert comments.comments(comment + "\n")


@pytest.mark.parametrize(
    "comment",
    [
        "# The lock closes the race with an edit (A11).",
        "# We prefer a skipped run to a doubled one here.",
        "x = 1  # noqa: S104 - compared, not bound",
        "x = 1  # type: ignore[operator]  # int or float, both ordered",
        "text = 'TODO'",
        "#: Owed to the web server.",
    ],
)
def test_the_rule_accepts_a_comment(comment: str):
    assert not comments.comments(comment + "\n")


def test_the_rule_finds_paths_of_a_machine():
    assert comments.machine_paths("ROOT = '/home/someone/punctual'")
    assert not comments.machine_paths("ROOT = '/var/lib/punctual'")
