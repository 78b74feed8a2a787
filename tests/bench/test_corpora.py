from __future__ import annotations

import pytest

from bench import corpora, corpora_packages
from bench.corpora import KINDS, figures_of, files_of, lines_of
from bench.corpora_verdict import Verdict
from bench.installation import InstallationError

VERDICTS = [
    Verdict("PyPI a 1", "one.ics", "imported", 0.5, details={"taken": 3}),
    Verdict("PyPI a 1", "two.ics", "all left out", 1.5, details={"taken": 0, "left_out": 2}),
    Verdict("npm b 1", "three.ics", "status 500", 0.1, "status 500: oops"),
]


def test_the_table_has_a_row_for_each_package_and_names_every_breach():
    lines = list(lines_of("calendars", VERDICTS))

    assert [line.split()[:3] for line in lines[1:3]] == [["PyPI", "a", "1"], ["npm", "b", "1"]]
    assert lines[3:] == ["breaches: 1", "  npm b 1 three.ics: status 500: oops"]


def test_what_is_stored_counts_files_by_outcome():
    assert figures_of(VERDICTS) == {
        "files": 3,
        "outcomes": {"imported": 1, "all left out": 1, "status 500": 1},
        "breaches": ["npm b 1 three.ics: status 500: oops"],
        "slowest_seconds": 1.5,
        "details": {"taken": 3, "left_out": 2},
    }


def test_too_few_files_are_no_corpus(monkeypatch):
    monkeypatch.setattr(corpora_packages, "files", lambda *_: iter(()))

    with pytest.raises(InstallationError, match=r"only 0 files \.ics"):
        files_of(KINDS["calendars"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_package_is_pinned_by_version_and_checksum(kind):
    assert all(package.version[0].isdigit() for package in kind.packages)
    assert all(len(package.sha256) == 64 for package in kind.packages)


def test_one_kind_of_files_may_be_chosen():
    assert corpora.options(["--only", "calendars"]).only == "calendars"
