from __future__ import annotations

from operations.doctor.finding import Verdict, away, bad, good, odd


def test_a_finding_carries_evidence_and_a_remedy_where_one_is_needed():
    assert good("disk", "room").verdict is Verdict.OK
    assert odd("disk", "little room", "Make room.").remedy == "Make room."
    assert bad("disk", "full", "Make room.").verdict is Verdict.FAILED


def test_only_a_server_that_does_not_answer_is_unreachable():
    assert away("database", "no answer", "Start it.").unreachable
    assert not bad("disk", "full", "Make room.").unreachable
