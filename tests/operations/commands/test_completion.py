from __future__ import annotations

import json

from operations.completion import bash
from tests.support.command_calls import call


def test_the_command_prints_the_script():
    said = call("completion", "bash")

    assert said.out == bash()
    assert json.loads(call("completion", "bash", "--json").out)["script"] == bash()
