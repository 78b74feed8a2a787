from __future__ import annotations

from bench.peers.workers.apscheduler_peer import sqlalchemy_url


def test_the_url_names_the_driver_and_stays_otherwise():
    url = "postgresql://a:b@/c?host=%2Ftmp"

    assert sqlalchemy_url(url) == "postgresql+psycopg://a:b@/c?host=%2Ftmp"
