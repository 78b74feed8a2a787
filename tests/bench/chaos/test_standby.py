from __future__ import annotations

from psycopg.conninfo import conninfo_to_dict

from bench.chaos.standby import both


def test_the_url_names_both_servers_and_asks_for_the_one_that_may_be_written():
    found = conninfo_to_dict(
        both("postgresql://u:p%3Aw@/db?host=/a", "postgresql://u:p@/db?host=/b")
    )

    assert found["host"] == "/a,/b"
    assert found["target_session_attrs"] == "read-write"
    assert (found["user"], found["password"], found["dbname"]) == ("u", "p:w", "db")
