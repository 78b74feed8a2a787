from __future__ import annotations

from bench.peers.servers import POSTGRESQL, VALKEY, environment_of


def test_postgresql_is_found_by_url_and_by_the_variables_of_libpq():
    url = "postgresql://somebody:a%2Fb@/tasks?host=%2Ftmp%2Fsockets"

    assert environment_of(POSTGRESQL, url) == {
        "DATABASE_URL": url,
        "PGHOST": "/tmp/sockets",
        "PGUSER": "somebody",
        "PGPASSWORD": "a/b",
        "PGDATABASE": "tasks",
    }


def test_valkey_is_found_by_the_url_of_a_broker_and_by_socket_and_password():
    assert environment_of(VALKEY, "unix://:a%2Fb@/tmp/valkey.sock?db=0") == {
        "BROKER_URL": "redis+socket://:a%2Fb@/tmp/valkey.sock?virtual_host=0",
        "VALKEY_SOCKET": "/tmp/valkey.sock",
        "VALKEY_PASSWORD": "a/b",
    }
