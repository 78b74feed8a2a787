from __future__ import annotations

import json
from argparse import Namespace

import pytest

from bench import report, stolen
from bench.stolen import Processors


@pytest.fixture
def kept(monkeypatch):
    """Let the machine's host have kept so many hundredths since the report began."""

    def keep(percent: int) -> None:
        monkeypatch.setattr(report, "_BEGUN", Processors(spent=0, stolen=0))
        monkeypatch.setattr(stolen, "read", lambda: Processors(100 - percent, percent))

    return keep


@pytest.mark.parametrize(("percent", "told"), [(5, False), (6, True)])
def test_figures_of_a_slowed_machine_say_so(kept, tmp_path, capsys, percent, told):
    kept(percent)

    path = report.publish("idle", {}, ["PASSED"], Namespace(results=tmp_path, json=False))

    assert json.loads(path.read_text())["machine"]["stolen_percent"] == percent
    assert ("a slower machine's figures" in capsys.readouterr().out) is told
