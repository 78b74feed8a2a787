from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from bench.cold_tls import DOMAIN, Round, judge, write_certificates

FAST = {
    "cold": Round(1000, 1.0, 1.2, {"full": 1000}),
    "cold_keeping": Round(1000, 1.1, 1.2, {"full": 1000}),
    "resumed": Round(1000, 0.4, 0.5, {"resumed": 1000}),
    "kept": Round(1000, 0.1, 0.1, {"kept": 1000}),
}


def passes(changes: dict[str, Round] | None = None, *, sound: bool = True) -> bool:
    rounds = FAST | (changes or {})
    return judge({kind: [one] for kind, one in rounds.items()}, sound=sound)[1]


@pytest.mark.parametrize("sound", [True, False])
def test_rounds_that_are_as_meant_and_fast_pass(sound: bool):
    assert passes(sound=sound)


def test_where_no_sessions_are_kept_they_need_not_pay():
    slow = {
        "cold_keeping": Round(1000, 1.5, 1.5, {"full": 1000}),
        "resumed": Round(1000, 1.2, 1.2, {"resumed": 1000}),
    }

    assert passes(slow, sound=False)
    assert not passes({"cold": Round(1000, 1.5, 1.5, {"full": 1000})}, sound=False)
    assert not passes({"resumed": Round(1000, 0.4, 0.4, {"full": 1000})}, sound=False)


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("cold_keeping", Round(1000, 1.5, 1.5, {"full": 1000})),
        ("cold", Round(1000, 1.0, 1.0, {"full": 999, "resumed": 1})),
        ("resumed", Round(1000, 0.4, 0.4, {"full": 1000})),
        ("resumed", Round(1000, 1.2, 1.2, {"resumed": 1000})),
        ("kept", Round(1000, 0.1, 0.1, {"kept": 999})),
        ("kept", Round(1000, 1.5, 1.5, {"kept": 1000})),
    ],
)
def test_a_round_that_is_slow_or_something_else_fails(kind: str, one: Round):
    assert not passes({kind: one})


def test_figures_are_medians_beside_the_cold_ones():
    slow = Round(1000, 4.0, 4.0, {"kept": 1000})

    rounds = {kind: [one, one, one] for kind, one in FAST.items()}
    found, _ = judge(rounds | {"kept": [slow, FAST["kept"], FAST["kept"]]}, sound=True)

    assert found["kept"]["per_second_a_core"] == 10_000
    assert found["kept"]["times_cold"] == 10
    assert found["resumed"]["cpu_us_each"] == 400


def test_the_certificates_pass_the_strict_rules_of_later_pythons(tmp_path: Path):
    authority, served = write_certificates(tmp_path)
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(served)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = context.wrap_bio(to_client, to_server, server_hostname=f"h00001.{DOMAIN}")
    far = server.wrap_bio(to_server, to_client, server_side=True)

    for side in (near, far, near):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()

    peer = near.getpeercert()
    assert peer is not None
    assert peer["subjectAltName"] == (("DNS", f"*.{DOMAIN}"),)
