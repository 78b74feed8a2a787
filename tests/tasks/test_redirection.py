from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.exceptions import Conflict, InvalidInput
from shared.redaction import MASK
from tasks.definition import to_stored
from tasks.masking import mask_target
from tasks.redirection import read_into, redirected
from tests.tasks.bodies import AUTHS, LIMITS, TARGETS, create, problems, with_target

STAGING = "https://staging.example.com/in"


def aimed(target: dict[str, Any], into: dict[str, str], pools: tuple[str, ...] = ()) -> Any:
    body = with_target(target) | {"labels": {"team": "billing"}}
    limits = replace(LIMITS, pools=lambda: frozenset(pools) | LIMITS.pools())
    return redirected(create(body), into, limits)


@pytest.mark.parametrize("auth", AUTHS.values(), ids=AUTHS)
def test_no_secret_follows_to_another_host(auth):
    target = TARGETS["webhook"] | {"auth": auth}

    found = aimed(target, {"url": STAGING})

    assert "s3cret" not in str(to_stored(found)["target"])
    assert MASK not in str(mask_target(found.target))
    assert found.target["headers"] == {"X-Team": "billing", "X-At": "{{ scheduled_for }}"}
    kept = {"url", "auth", "tls", "proxy", "headers"}
    whole = create(with_target(target) | {"labels": {"team": "billing"}})
    assert {key: value for key, value in found.target.items() if key not in kept} == {
        key: value for key, value in whole.target.items() if key not in kept
    }
    assert (found.payload, found.retry_policy) == (whole.payload, whole.retry_policy)


@pytest.mark.parametrize(
    "url", ["http://api.example.com/x", "https://api.example.com:8443/x", "https://example.com/x"]
)
def test_another_scheme_port_or_host_is_another_place(url):
    assert aimed(TARGETS["webhook"], {"url": url}).target["auth"] is None


def test_another_path_of_the_same_host_keeps_the_secrets():
    target = TARGETS["webhook"]

    found = aimed(target, {"url": "https://api.example.com/again"}).target

    assert (found["auth"], found["headers"]) == (target["auth"], target["headers"])


def test_a_command_takes_no_secret_to_another_pool():
    with pytest.raises(InvalidInput) as refused:
        aimed(TARGETS["command"], {"pool": "staging"})

    assert refused.value.code == "secret_required"
    assert {error.code for error in refused.value.errors} == {"secret_required"}
    assert "s3cret" not in str(refused.value.errors)
    free = TARGETS["command"] | {"environment": {}}
    assert aimed(free, {"pool": "staging"}).target["pool"] == "staging"
    assert (
        aimed(TARGETS["command"], {"pool": "commands"}).target
        == aimed(TARGETS["command"], {"pool": "commands"}).target
    )


def test_a_handler_runs_in_another_pool_and_in_none_of_the_products_own():
    assert aimed(TARGETS["handler"], {"pool": "staging"}).target["pool"] == "staging"
    for name in ("default", "system"):
        found = problems(aimed, TARGETS["handler"], {"pool": name})
        assert found == {("#/target/pool", "pool_reserved")}


def test_workers_lease_it_only_from_a_pool_of_the_tenant():
    pool = TARGETS["pool"]["pool"]

    def elsewhere(known: tuple[str, ...]) -> Any:
        return aimed(TARGETS["pool"], {"pool": "staging"}, (pool, *known))

    assert elsewhere(("staging",)).target["pool"] == "staging"
    with pytest.raises(InvalidInput) as refused:
        elsewhere(())
    assert [error.code for error in refused.value.errors] == ["pool_unknown"]


@pytest.mark.parametrize(
    ("kind", "into"),
    [
        ("webhook", {"pool": "staging"}),
        *[(kind, {"url": STAGING}) for kind in ("pool", "handler", "command")],
    ],
)
def test_a_target_takes_only_the_kind_of_place_that_it_has(kind, into):
    pools = (TARGETS["pool"]["pool"],)

    with pytest.raises(Conflict) as refused:
        aimed(TARGETS[kind], into, pools)

    assert refused.value.code == "into_unfit"


@pytest.mark.parametrize(
    ("into", "expected"),
    [
        (None, ("#/into", "exclusive")),
        ([], ("#/into", "exclusive")),
        ({}, ("#/into", "exclusive")),
        ({"url": None}, ("#/into", "exclusive")),
        ({"url": STAGING, "pool": "staging"}, ("#/into", "exclusive")),
        ({"url": STAGING, "host": "x"}, ("#/into/host", "unknown_field")),
        ({"url": 1}, ("#/into/url", "invalid_type")),
        ({"url": "https://10.0.0.1/"}, ("#/into/url", "address_forbidden")),
        ({"url": "ftp://example.com/"}, ("#/into/url", "url_invalid")),
        ({"url": "https://example.com/\0"}, ("#/into/url", "invalid_characters")),
        ({"pool": ""}, ("#/into/pool", "blank")),
        ({"pool": "No Pool"}, ("#/into/pool", "name_invalid")),
        ({"pool": "x" * 60}, ("#/into/pool", "too_long")),
    ],
)
def test_a_place_that_no_replay_can_go_into_is_refused(into, expected):
    assert expected in problems(read_into, into, LIMITS)


def test_a_place_is_read_as_it_is_written():
    assert read_into({"url": STAGING, "pool": None}, LIMITS) == {"url": STAGING}
    assert read_into({"pool": "staging"}, LIMITS) == {"pool": "staging"}
