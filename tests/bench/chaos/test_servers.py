from __future__ import annotations

from pathlib import Path

import pytest

from bench.chaos.servers import POSTGRESQL, VALKEY, directory_of, pid_of
from bench.chaos.site import Site
from bench.installation import Installation
from launcher import local_state


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(Installation("http://127.0.0.1:1", "key", {"DATA_DIR": str(tmp_path)}))


def test_a_server_that_is_away_has_no_pid(site: Site):
    told = {"processes": [{"kind": VALKEY, "pid": None}, {"kind": POSTGRESQL, "pid": 7}]}
    local_state.write_runtime(site.data_dir, told)

    assert pid_of(site, VALKEY) is None
    assert pid_of(site, POSTGRESQL) == 7


def test_the_servers_of_an_ordinary_user_are_in_the_data_directory(site: Site):
    assert directory_of(site, VALKEY) == site.data_dir / "valkey"


def test_the_servers_of_root_may_be_elsewhere(site: Site, tmp_path_factory: pytest.TempPathFactory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (site.data_dir / "servers").symlink_to(elsewhere)

    assert directory_of(site, POSTGRESQL) == elsewhere / "postgres"
