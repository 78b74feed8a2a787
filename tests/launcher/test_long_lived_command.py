from __future__ import annotations

import pytest
from django.conf import settings

from launcher import long_lived_command
from launcher.long_lived_command import LongLivedCommand


@pytest.mark.parametrize("json", [True, False])
def test_its_whole_output_is_the_log_only_where_lines_are_json(
    monkeypatch: pytest.MonkeyPatch, json: bool
):
    taken: list[bool] = []
    monkeypatch.setattr(long_lived_command, "take_over", lambda: taken.append(True))
    monkeypatch.setattr(settings, "LOGGING", {**settings.LOGGING, "json": json})

    LongLivedCommand()

    assert bool(taken) is json
