from __future__ import annotations

import dataclasses

import pytest

from executions.resealing import open_targets, sealing_anew
from shared.conf import conf
from shared.data_keys import ACTIVE_SECONDS, forget_all
from tasks.models import TaskRevision
from tenants.models import DataKey
from tests.executions.resealing.stored import from_before_data_keys
from tests.factories import make_task, make_tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def waited(monkeypatch) -> list[float]:
    """Let nothing wait for other processes; return how long each wait would have been."""
    found: list[float] = []
    monkeypatch.setattr(open_targets, "_wait", found.append)
    return found


@pytest.fixture
def two_keys(settings):
    """Let what is stored be from before data keys, and make another key active."""
    make_task(from_before_data_keys(make_tenant()))
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)


def test_list_counts_the_values_of_each_key(two_keys):
    done = call("keys", "list", "--json")
    found = read_document("keys-list", done.out)["keys"]

    assert [(key["id"], key["active"], key["configured"]) for key in found] == [
        ("new", True, True),
        ("test", False, True),
    ]
    assert (found[0]["values"], found[1]["values"] > 0) == (0, True)
    assert [key["data_keys"] for key in found] == [0, 0]
    assert "active" in call("keys", "list").out


def test_a_key_that_is_missing_is_listed(settings, two_keys):
    keys = {"new": b"n" * 32}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)

    assert "missing" in call("keys", "list").out


def test_values_that_no_key_opens_are_a_conflict_and_no_reason_to_repeat(settings, two_keys):
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys={"new": b"n" * 32})

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert done.code == 4
    assert found["left"] == found["unreadable"] > 0
    assert f"{found['left']} values open with no configured key" in done.err
    assert "repeating does not help" in done.err
    assert "Repeat the command" not in done.err


def test_values_that_other_sessions_use_are_left_to_a_repeat(monkeypatch, two_keys):
    monkeypatch.setattr(sealing_anew, "_write", lambda *_: 0)

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["unreadable"]) == (6, 0)
    assert f"{found['left']} values still have another key" in done.err
    assert "Repeat the command" in done.err
    assert "no configured key" not in done.err


def test_a_repeat_comes_first_where_some_values_cannot_be_opened(monkeypatch, two_keys):
    spoiled = make_task(from_before_data_keys(make_tenant("Beta")))
    altered = b"\x01\x04test" + bytes(40)
    TaskRevision.objects.filter(task=spoiled).update(sealed=altered)
    monkeypatch.setattr(sealing_anew, "_write", lambda *_: 0)

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    # Twice: the value itself, and the URL that cannot be put into it.
    assert (done.code, found["unreadable"]) == (6, 2)
    assert f"{found['left'] - 2} values still have another key" in done.err
    assert "2 values open with no configured key" in done.err


def test_reseal_seals_everything_under_the_active_key(two_keys):
    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["key"], found["left"]) == (0, "new", 0)
    assert found["sealed"] > 0
    listed = read_document("keys-list", call("keys", "list", "--json").out)
    assert [key["values"] for key in listed["keys"]] == [0, 0]
    [key] = listed["data_keys"]
    assert (key["status"], key["generation"], key["wrapped_by"]) == ("SEALS", 1, "new")
    moved = {"definition", "options"}
    sealed = [one["sealed"] for one in found["columns"] if one["column"] not in moved]
    assert key["values"] == sum(sealed)


def test_reseal_lets_targets_be_sealed_and_moves_what_lies_in_clear(alpha):
    DataKey.objects.update(seals_targets=False)
    forget_all()
    make_task(alpha)
    before = call("keys", "list", "--json")

    done = call("keys", "reseal", "--yes", "--json")
    after = read_document("keys-list", call("keys", "list", "--json").out)

    assert read_document("keys-list", before.out)["open_targets"] == {"versions": 1, "bulk_jobs": 0}
    assert (done.code, "URLs and arguments are sealed from now on" in done.err) == (0, True)
    moved = read_document("keys-reseal", done.out)["columns"][-2]
    assert (moved["table"], moved["column"]) == ("task_revisions", "definition")
    assert (moved["sealed"], moved["left"]) == (1, 0)
    assert after["open_targets"] == {"versions": 0, "bulk_jobs": 0}
    assert after["data_keys"][0]["seals_targets"]
    assert "in clear" not in call("keys", "list").out


def test_reseal_of_one_tenant_leaves_the_targets_of_others_as_they_are(alpha, beta):
    DataKey.objects.update(seals_targets=False)
    forget_all()
    make_task(alpha)
    make_task(beta)

    done = call("keys", "reseal", "--tenant", alpha.name, "--yes", "--json")

    assert (done.code, read_document("keys-reseal", done.out)["left"]) == (0, 0)
    listed = call("keys", "list")
    assert "URLs or arguments in clear: versions 1, bulk jobs 0" in listed.out
    own = read_document("keys-list", call("keys", "list", "--tenant", alpha.name, "--json").out)
    assert own["open_targets"] == {"versions": 0, "bulk_jobs": 0}


@pytest.mark.parametrize("words", [[], ["--tenant", "Alpha"]])
def test_reseal_moves_what_a_process_stores_that_does_not_know_of_it_yet(alpha, monkeypatch, words):
    DataKey.objects.update(seals_targets=False)
    forget_all()
    waits = []

    def store_as_another_process(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            DataKey.objects.update(seals_targets=False)
            forget_all()
            make_task(alpha)
            DataKey.objects.update(seals_targets=True)
            forget_all()

    monkeypatch.setattr(open_targets, "_wait", store_as_another_process)

    done = call("keys", "reseal", *words, "--yes", "--json")

    assert done.code == 0
    assert 0 < waits[0] <= ACTIVE_SECONDS
    assert open_targets.count_open() == (0, 0)


def test_reseal_waits_for_nothing_where_targets_are_sealed_already(alpha, waited):
    make_task(alpha)

    call("keys", "reseal", "--yes")
    call("keys", "reseal", "--tenant", alpha.name, "--yes")

    assert not waited


def test_reseal_asks_first():
    assert call("keys", "reseal").code == 2


def test_rotate_of_a_tenant_makes_a_key_and_reseal_does_the_pass_here(alpha):
    make_task(alpha)

    done = call("keys", "rotate", "--tenant", alpha.name, "--yes", "--json")
    begun = read_document("keys-rotate", done.out)
    done = call("keys", "reseal", "--tenant", alpha.name, "--yes", "--json")
    ended = read_document("keys-reseal", done.out)

    assert (begun["tenant_id"], begun["resealing"]["status"]) == (str(alpha.id), "RUNNING")
    assert (done.code, ended["resealing"]["status"], ended["left"]) == (0, "COMPLETED", 0)
    assert ended["resealing"]["id"] == begun["resealing"]["id"]
    listed = read_document("keys-list", call("keys", "list", "--tenant", alpha.name, "--json").out)
    assert [key["status"] for key in listed["data_keys"]] == ["SEALS", "OPENS"]
    assert [key["values"] > 0 for key in listed["data_keys"]] == [True, False]


def test_rotate_without_a_tenant_wraps_the_data_keys_anew(settings, alpha):
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)

    done = call("keys", "rotate", "--yes", "--json")
    found = read_document("keys-rotate", done.out)

    assert (done.code, found["key"], found["wrapped"], found["left"]) == (0, "new", 1, 0)
    listed = read_document("keys-list", call("keys", "list", "--json").out)["keys"]
    assert [key["data_keys"] for key in listed] == [1, 0]


def test_retire_refuses_a_key_that_is_needed_and_destroys_one_that_is_not(alpha):
    call("keys", "rotate", "--tenant", alpha.name, "--yes")
    call("keys", "reseal", "--tenant", alpha.name, "--yes")
    former = DataKey.objects.exclude(replaced_at=None).get()

    refused = call("keys", "retire", str(former.id), "--yes")
    DataKey.objects.filter(pk=former.pk).update(replaced_at="2020-01-01T00:00:00Z")
    done = call("keys", "retire", str(former.id), "--yes", "--json")

    assert (refused.code, "seconds ago" in refused.err) == (4, True)
    assert (done.code, read_document("keys-retire", done.out)["id"]) == (0, str(former.id))
    assert not DataKey.objects.filter(pk=former.pk).exists()


@pytest.mark.parametrize("verb", ["rotate", "reseal", "retire"])
def test_a_change_of_keys_asks_first(alpha, verb):
    key = DataKey.objects.get(tenant=alpha)
    words = [str(key.id)] if verb == "retire" else ["--tenant", alpha.name]

    assert call("keys", verb, *words).code == 2
    assert DataKey.objects.count() == 1
