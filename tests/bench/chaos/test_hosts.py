from __future__ import annotations

import pytest

from bench.chaos import hosts
from bench.chaos.hosts import EVERYBODY, PROCESSES, PROXIES, RECEIVERS, VALKEY, HostsError

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0F4DE70A:A1B2 034DE70A:18EB 01 00000000:00000000 00:00000000 00000000     0
   1: 0F4DE70A:A1B4 044DE70A:1538 06 00000000:00000000 00:00000000 00000000     0
   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
"""


def test_every_host_has_an_address_and_hardware_of_its_own():
    assert len({host.address for host in EVERYBODY}) == len(EVERYBODY)
    inside = [host for host in EVERYBODY if not host.outside]
    assert len({host.hardware for host in inside} | {PROXIES.hardware}) == len(inside) + 1


def test_both_addresses_of_this_machine_are_one_device():
    assert RECEIVERS.hardware == PROXIES.hardware
    assert RECEIVERS.command("true") == ("true",)


def test_a_process_is_run_on_its_host():
    assert PROCESSES["worker-1"].command("true") == (
        "nsenter",
        "--net=/run/netns/pnct-worker-1",
        "--",
        "true",
    )


def test_only_established_connections_are_listed():
    assert hosts.established(TABLE) == {(0xA1B2, VALKEY.address)}


def test_without_root_there_are_no_hosts(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(HostsError, match="need root"), hosts.network():
        pass
