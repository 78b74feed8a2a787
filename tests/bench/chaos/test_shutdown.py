from __future__ import annotations

from pathlib import Path

from bench.chaos.shutdown import running
from bench.chaos.site import Site
from bench.installation import Installation
from launcher import local_state


def test_only_punctuals_own_processes_that_live_are_restarted(tmp_path: Path):
    listed = [
        {"name": "web-1", "kind": "web", "pid": 11},
        {"name": "worker-1", "kind": "worker", "pid": None},
        {"name": "postgresql", "kind": "postgresql", "pid": 13},
    ]
    local_state.write_runtime(tmp_path, {"processes": listed})
    site = Site(Installation("http://127.0.0.1:1", "secret", {"DATA_DIR": str(tmp_path)}))

    assert running(site) == {"web-1": ("web", 11)}
