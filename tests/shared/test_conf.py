from __future__ import annotations

import dataclasses

import pytest

from shared.conf import Conf, conf


def test_the_knobs_in_force_are_those_of_the_settings(settings):
    settings.PUNCTUAL = Conf(horizon_seconds=20.0)

    assert conf().horizon_seconds == 20.0


def test_a_knob_is_not_changed_in_passing():
    with pytest.raises(dataclasses.FrozenInstanceError):
        conf().horizon_seconds = 1.0  # type: ignore[misc]  # frozen


@pytest.mark.parametrize(
    "knobs",
    [
        {"partition_renew_seconds": 4.0, "partition_lease_seconds": 8.0},
        {"worker_heartbeat_seconds": 5.0, "worker_lost_seconds": 10.0},
        {"release_seconds": 15.0, "horizon_seconds": 15.0},
    ],
)
def test_knobs_that_contradict_each_other_are_refused(knobs: dict[str, float]):
    with pytest.raises(ValueError, match="must be"):
        Conf(**knobs)  # type: ignore[arg-type]  # all floats


def test_keys_do_not_show_in_a_log_of_the_knobs():
    assert "secret" not in repr(Conf(encryption_keys={"k": b"secret"}))


def test_a_command_is_run_for_every_tenant_unless_some_are_named():
    knobs = Conf(command_tenants={"report": ("b",)})

    assert knobs.lets_run("backup", "a")
    assert knobs.lets_run("report", "b")
    assert not knobs.lets_run("report", "a")
