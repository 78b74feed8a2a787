from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    [sys.executable, "-m", "receiver"],
    [sys.executable, "manage.py", "run_receiver"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=["module", "command"])
def test_it_runs_without_database_and_stops_cleanly_at_sigterm(command: list[str], tmp_path: Path):
    ledger = tmp_path / "ledger.jsonl"
    away = {"DATABASE_URL": "", "REDIS_URL": "", "DATA_DIR": str(tmp_path), "SECRET_KEY": "x" * 50}
    process = subprocess.Popen(
        [*command, "--port", "0", "--ledger", str(ledger)],
        env={**os.environ, **away, "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/ok", b"{}", {"webhook-id": "one"})
        assert connection.getresponse().read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        connection.close()
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    assert json.loads(ledger.read_text())["webhook_id"] == "one"
