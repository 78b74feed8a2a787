from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from operations.doctor.finding import Finding, away, bad, good, odd, of_tenants
from operations.doctor.repairs import Repair
from operations.management.commands import doctor
from tests.support.command_documents import read_document

GOOD = good("disk", "room")
ODD = odd("redis persistence", "no append-only file", "Set appendonly yes.")
BAD = bad("debug mode", "DEBUG is on", "Unset DEBUG.")
AWAY = away("database", "no answer", "Start it.")


@pytest.fixture
def found(monkeypatch):
    """Let the examination find what the test says."""
    findings: list[Finding] = []
    monkeypatch.setattr(doctor, "examine", lambda: iter(findings))
    return findings


def _run(*words: str) -> tuple[int, str, str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("doctor", *words, stdout=out, stderr=err)
    except SystemExit as left:
        code = int(left.code or 0)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("findings", "words", "code"),
    [
        ([GOOD, ODD], (), 0),
        ([GOOD, ODD], ("--strict",), 1),
        ([GOOD], ("--strict",), 0),
        ([GOOD, BAD, ODD], (), 1),
        ([BAD, AWAY], (), 5),
    ],
)
def test_the_exit_code_is_that_of_the_worst_finding(found, findings, words, code):
    found.extend(findings)

    assert _run(*words)[0] == code


def test_each_finding_shows_mark_evidence_and_remedy(found):
    found.extend([GOOD, ODD, BAD])

    _, out, err = _run()

    assert out.splitlines() == [
        "✔ disk               room",
        "! redis persistence  no append-only file",
        "                     → Set appendonly yes.",
        "✘ debug mode         DEBUG is on",
        "                     → Unset DEBUG.",
    ]
    assert err == "3 checks: 1 broken, 1 worth a look\n"


def test_what_waits_for_tenants_stands_apart(found):
    found.extend([of_tenants("pull pools", "1 execution waits"), GOOD])

    code, out, _ = _run("--strict")

    assert code == 0
    assert out.splitlines() == [
        "✔ disk               room",
        "Of the tenants' work, no fault of the installation:",
        "✔ pull pools         1 execution waits",
    ]
    assert [one["matter"] for one in read_document("doctor", _run("--json")[1])["checks"]] == [
        "tenants",
        "installation",
    ]


def test_the_document_has_the_same(found):
    found.extend([GOOD, BAD])

    code, out, _ = _run("--json")
    document = read_document("doctor", out)

    assert code == 1
    assert (document["schema"], document["healthy"]) == (1, False)
    assert document["checks"][1] == {
        "check": "debug mode",
        "verdict": "failed",
        "evidence": "DEBUG is on",
        "remedy": "Unset DEBUG.",
        "unreachable": False,
        "matter": "installation",
    }


def test_repairs_are_made_before_the_examination_and_told(found, monkeypatch):
    made = [Repair("day tables", "made 3 day tables"), Repair("outcome group", "", "away")]

    def repair() -> list[Repair]:
        found.append(GOOD)
        return made

    monkeypatch.setattr(doctor, "repair_all", repair)

    code, out, err = _run("--fix", "--json")

    document = read_document("doctor", out)
    assert (code, len(document["checks"]), len(document["repairs"])) == (0, 1, 2)
    assert "fix day tables: made 3 day tables\n" in err
    assert "fix outcome group: not done, away\n" in err
    assert read_document("doctor", _run("--json")[1])["repairs"] == []
