from __future__ import annotations

import subprocess
import sys

import pytest

from bench import machines_receiver
from bench.installation import InstallationError


def test_the_receiver_listens_on_the_address_that_it_is_given():
    with machines_receiver.running("127.0.0.2") as target:
        assert target.url.startswith("http://127.0.0.2:")
        assert target.count() == 0
        assert target.arrivals() == []


def test_an_address_that_is_not_ours_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch):
    silent = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: silent)

    with (
        pytest.raises(InstallationError, match=r"did not start on 192\.0\.2\.1"),
        machines_receiver.running("192.0.2.1"),
    ):
        pass
