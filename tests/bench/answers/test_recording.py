from __future__ import annotations

import copy
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bench.answers.questions import questions
from bench.answers.recording import Broken, Uncalled, differences, load, record, store
from bench.answers.world import Rows

DOCUMENT = {
    "paths": {
        "/v1/tasks": {
            "get": {"parameters": [{"in": "query", "name": "cursor", "schema": {"type": "string"}}]}
        },
        "/v1/me": {"get": {}, "patch": {}},
    }
}
TENANTS = {"Alpha": Rows("k", {"unknown": ["x"]}, {})}


class FakeClient:
    """Answers lists of two pages, and everything else with its own URL."""

    def __init__(self, status=200):
        self.status = status

    def get(self, url, headers):
        body = {"url": url, "pagination": {"next_cursor": None if "cursor=" in url else "two"}}
        content = json.dumps(body).encode()
        return SimpleNamespace(
            status_code=self.status,
            headers={"Content-Type": "application/json"},
            streaming=False,
            content=content,
        )


@pytest.fixture
def before():
    return record(DOCUMENT, TENANTS, FakeClient())


def altered(before, name, change):
    """Return the recording with the body of one answer changed."""
    after = copy.deepcopy(before)
    digest = after["answers"][name][2]
    after["bodies"]["other"] = change(after["bodies"][digest])
    after["answers"][name][2] = "other"
    return after


def test_equal_recordings_have_no_difference(before):
    assert differences(before, record(DOCUMENT, TENANTS, FakeClient())) == []


def test_a_list_is_walked_to_its_end(before):
    assert "Alpha /v1/tasks?cursor=two" in before["answers"]


def test_every_header_is_kept(before):
    assert before["answers"]["Alpha /v1/me"][1] == {"Content-Type": "application/json"}


def test_a_changed_byte_is_found(before):
    after = altered(before, "Alpha /v1/me", lambda body: body.replace("/v1/me", "/v1/mE", 1))

    [found] = differences(before, after)

    assert found.splitlines()[0] == "Alpha /v1/me"
    assert '- "url": "/v1/me",' in found
    assert '+ "url": "/v1/mE",' in found


def test_a_changed_byte_that_changes_no_value_is_found(before):
    after = altered(before, "Alpha /v1/me", lambda body: body + " ")

    [found] = differences(before, after)

    assert "other bytes" in found


def test_a_changed_status_or_header_is_found(before):
    after = copy.deepcopy(before)
    after["answers"]["Alpha /v1/me"][0] = 404
    after["answers"]["Alpha /v1/me"][1] = {}

    [found] = differences(before, after)

    assert "status: 200 -> 404" in found
    assert "headers:" in found


@pytest.mark.parametrize(("first", "said"), [(True, "only before"), (False, "only after")])
def test_an_answer_that_is_missing_is_found(before, first, said):
    after = copy.deepcopy(before)
    del after["answers"]["Alpha /v1/me"]

    [found] = differences(before, after) if first else differences(after, before)

    assert said in found


def test_a_path_that_is_not_called_fails_the_recording(monkeypatch):
    monkeypatch.setattr(
        "bench.answers.recording.questions",
        lambda *given: (one for one in questions(*given) if one.template != "/v1/me"),
    )

    with pytest.raises(Uncalled, match="not asked: /v1/me"):
        record(DOCUMENT, TENANTS, FakeClient())


def test_an_answer_of_a_failed_server_is_refused():
    with pytest.raises(Broken, match="500"):
        record(DOCUMENT, TENANTS, FakeClient(500))


def test_a_recording_is_read_as_it_was_stored(before, tmp_path):
    store(before, tmp_path / "a.xz")
    store(before, tmp_path / "b.xz")

    assert load(tmp_path / "a.xz") == before
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


@pytest.mark.slow
def test_two_recordings_differ_in_nothing_but_a_planted_byte(tmp_path):
    kept = tmp_path / "kept.xz"
    answers("--record", kept, code=0)
    planted = load(kept)
    name = next(name for name in planted["answers"] if name.startswith("Beta /v1/executions?limit"))
    store(altered(planted, name, lambda body: body.replace("SUCCEEDED", "SUCCEEDEd", 1)), kept)

    said = answers("--compare", kept, code=1)

    assert said.startswith(name)
    assert "\n1 of " in said


def answers(*arguments, code):
    """Run the command and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.answers", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
