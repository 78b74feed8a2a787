from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from launcher.embedded import Placement
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.embedded_valkey import EmbeddedValkey
from launcher.plan import (
    DRAIN_ORDER,
    UpOptions,
    fork_environment,
    make_stages,
    read_options,
)
from tasks.definition import HANDLER_TARGET_DEFAULTS

SECRETS = {"postgres_password": "p", "valkey_password": "v"}
VARIABLES = (
    "HOST", "PORT", "RECEIVER_PORT", "DATABASE_URL", "LOOPS_DATABASE_URL",
    "WEB_DATABASE_URL", "REDIS_URL",
    "WEBS", "SCHEDULERS", "WORKERS", "RECORDERS",
    "PUBLIC_URL", "WEBHOOK_ALLOWED_NETWORKS", "BOOTSTRAP_API_KEY",
    "ADMIN_PASSWORD", "HANDLER_MODULES", "ALLOWED_COMMANDS", "TEST_RECEIVER", "DEMO",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.fixture
def external(tmp_path) -> UpOptions:
    return replace(
        read_options(),
        data_dir=tmp_path,
        database_url="postgresql://somewhere/db",
        redis_url="redis://somewhere",
    )


def specs(stages):
    started = [spec for stage in stages for spec in stage.processes]
    commands = [command.spec for stage in stages for command in stage.commands]
    return {spec.name: spec for spec in (*started, *commands)}


def test_defaults_are_one_of_each_and_two_workers_on_the_loopback_address():
    options = read_options()

    assert (options.host, options.port, options.receiver_port) == ("127.0.0.1", 8000, 8001)
    assert (options.schedulers, options.workers, options.recorders) == (1, 2, 1)
    assert options.public_url == "http://127.0.0.1:8000"
    assert options.receiver_url == "http://127.0.0.1:8001/"


def test_highest_port_leaves_a_valid_one_for_the_receiver(monkeypatch):
    monkeypatch.setenv("PORT", "65535")

    assert read_options().receiver_port == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "0"), ("PORT", "http"), ("WORKERS", "-1"), ("SCHEDULERS", "257"), ("WEBS", "0")],
)
def test_values_that_cannot_be_used_are_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=name):
        read_options()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("10.0.0.7", "http://10.0.0.7:8000"),
    ],
)
def test_public_url_is_one_that_can_be_opened(external, host, url):
    assert replace(external, host=host).public_url == url


def test_every_kind_runs_in_the_numbers_asked_for(external):
    options = replace(external, webs=2, schedulers=2, workers=3, recorders=2)

    assert set(specs(make_stages(options, {}))) == {
        "migrate", "bootstrap", "web-1", "web-2", "receiver-1", "scheduler-1", "scheduler-2",
        "worker-1", "worker-2", "worker-3", "system-worker-1", "recorder-1", "recorder-2",
    }  # fmt: skip


def test_workers_and_the_receiver_are_given_no_database(external, monkeypatch):
    monkeypatch.setenv("DATABASE_URL_FILE", "/run/secrets/database")
    found = specs(make_stages(external, {}))

    for name in ("worker-1", "receiver-1"):
        # Empty, since the settings would look an absent one up in runtime.json.
        assert found[name].environment["DATABASE_URL"] == ""
        assert "DATABASE_URL_FILE" not in found[name].environment
    for name in ("web-1", "scheduler-1", "system-worker-1", "recorder-1", "migrate"):
        assert found[name].environment["DATABASE_URL"] == "postgresql://somewhere/db"
    assert found["worker-1"].environment["REDIS_URL"] == "redis://somewhere"


def test_workers_of_handlers_and_commands_run_where_there_are_any(external, monkeypatch):
    monkeypatch.setenv("HANDLER_MODULES", "billing.handlers")
    monkeypatch.setenv("ALLOWED_COMMANDS", "backup=/usr/local/bin/backup")
    options = read_options()
    assert (options.handlers, options.commands) == (True, True)

    found = specs(make_stages(replace(external, handlers=True, commands=True), {}))

    assert found["worker-handlers-1"].argv[-2:] == ("--pool", "handlers")
    assert found["worker-commands-1"].argv[-2:] == ("--pool", "commands")
    for name in ("worker-handlers-1", "worker-commands-1"):
        assert found[name].kind == found[name].environment["PROCESS_KIND"] == "worker"
        assert found[name].environment["PROCESS_NAME"] == name


def test_only_the_worker_of_the_handlers_is_given_the_database(external):
    found = specs(make_stages(replace(external, handlers=True, commands=True), {}))

    urls = {name: found[name].environment["DATABASE_URL"] for name in found if "worker-" in name}
    assert urls.pop("worker-handlers-1") == urls.pop("system-worker-1") == external.database_url
    assert set(urls.values()) == {""}


def test_the_worker_of_commands_stays_what_it_is_to_run_programs_as_another_account(external):
    found = specs(make_stages(replace(external, commands=True), {}))

    assert found["worker-commands-1"].account is None


def test_a_command_that_is_no_absolute_path_is_refused(monkeypatch):
    monkeypatch.setenv("ALLOWED_COMMANDS", "backup=backup.sh")

    with pytest.raises(ImproperlyConfigured, match="ALLOWED_COMMANDS"):
        read_options()


def test_bootstrap_secrets_go_to_bootstrap_alone(external, monkeypatch):
    monkeypatch.setenv("BOOTSTRAP_API_KEY", "k" * 40)
    monkeypatch.setenv("ADMIN_PASSWORD", "p" * 12)
    monkeypatch.setenv("ADMIN_PASSWORD_FILE", "/run/secrets/password")

    found = specs(make_stages(external, {}))

    secret = {"BOOTSTRAP_API_KEY", "ADMIN_PASSWORD", "ADMIN_PASSWORD_FILE"}
    assert secret <= set(found["bootstrap"].environment)
    for name, spec in found.items():
        if name != "bootstrap":
            assert not secret & set(spec.environment)


@pytest.mark.parametrize("name", ["JWT_ISSUERS", "METRICS_TOKEN", "OIDC_PROVIDERS"])
def test_issuers_and_providers_and_their_secrets_go_to_the_web_alone(external, monkeypatch, name):
    monkeypatch.setenv(name, "[]")
    monkeypatch.setenv(f"{name}_FILE", "/run/secrets/issuers")

    found = specs(make_stages(external, {}))

    secret = {name, f"{name}_FILE"}
    for spec in found.values():
        assert (secret & set(spec.environment) == secret) is (spec.kind == "web"), spec.name
    assert not secret & set(fork_environment())


def test_the_test_receiver_tells_what_arrived_on_a_file_and_reports_to_this_installation(external):
    argv = specs(make_stages(external, {}))["receiver-1"].argv

    assert f"--control={external.data_dir / 'receiver.sock'}" in argv
    assert f"--callbacks={external.public_url}" in argv
    assert "--port=8001" in argv


def test_a_test_receiver_that_is_turned_off_runs_nowhere_and_is_reached_by_nobody(
    external, monkeypatch
):
    monkeypatch.setenv("TEST_RECEIVER", "false")
    options = replace(
        read_options(), database_url=external.database_url, redis_url=external.redis_url
    )
    found = specs(make_stages(options, {}))

    assert "receiver-1" not in found
    assert options.receiver_url == ""
    assert {spec.environment["WEBHOOK_ALLOWED_NETWORKS"] for spec in found.values()} == {""}


def test_processes_know_what_they_are_and_where_the_data_is(external):
    environment = specs(make_stages(external, {}))["worker-1"].environment

    assert environment["PROCESS_KIND"] == "worker"
    assert environment["PROCESS_NAME"] == "worker-1"
    assert environment["DATA_DIR"] == str(external.data_dir)
    assert environment["PYTHONUNBUFFERED"] == "1"


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (None, "127.0.0.1/32:8001"),
        ("", "127.0.0.1/32:8001"),
        ("10.0.0.0/8, 127.0.0.1/32:9000", "10.0.0.0/8 127.0.0.1/32:9000 127.0.0.1/32:8001"),
        ("127.0.0.1/32:8001", "127.0.0.1/32:8001"),
    ],
)
def test_networks_that_are_given_are_allowed_besides_the_test_receiver(
    external, monkeypatch, given, allowed
):
    name = "WEBHOOK_ALLOWED_NETWORKS"
    if given is not None:
        monkeypatch.setenv(name, given)

    found = specs(make_stages(external, {}))

    assert {spec.environment[name] for spec in found.values()} == {allowed}


def _embedded(directory):
    placement = Placement(directory, directory, None)
    return {
        "postgresql": EmbeddedPostgres(placement, SECRETS),
        "valkey": EmbeddedValkey(placement, SECRETS),
    }


def test_embedded_servers_come_first_and_their_addresses_are_handed_on(tmp_path, monkeypatch):
    servers = _embedded(tmp_path)
    options = replace(read_options(), data_dir=tmp_path)

    stages = make_stages(options, servers)

    names = [stage.name for stage in stages]
    assert names == ["postgresql", "valkey", "migrations", "bootstrap", "web", "Punctual"]
    found = specs(stages)
    assert found["web-1"].environment["DATABASE_URL"] == servers["postgresql"].url
    assert found["web-1"].environment["REDIS_URL"] == servers["valkey"].url
    assert found["postgresql"].kind == "postgresql"


def test_the_web_process_knows_its_own_role_alone_and_no_other_process_knows_it(tmp_path):
    placement = Placement(tmp_path, tmp_path, None)
    postgres = EmbeddedPostgres(placement, {**SECRETS, "postgres_web_password": "of the web"})
    servers = {**_embedded(tmp_path), "postgresql": postgres}

    found = specs(make_stages(replace(read_options(), data_dir=tmp_path), servers))

    assert postgres.web_url.startswith("postgresql://punctual_web:of%20the%20web@/punctual?host=")
    web = found["web-1"].environment
    assert web["DATABASE_URL"] == web["WEB_DATABASE_URL"] == postgres.web_url
    assert postgres.url not in web.values()
    migrate = found["migrate"].environment
    assert (migrate["DATABASE_URL"], migrate["WEB_DATABASE_URL"]) == (
        postgres.url,
        postgres.web_url,
    )
    for name in ("bootstrap", "scheduler-1", "system-worker-1", "recorder-1"):
        environment = found[name].environment
        assert (environment["DATABASE_URL"], environment["WEB_DATABASE_URL"]) == (postgres.url, "")


def test_what_runs_all_the_time_never_learns_the_owners_address(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDLER_MODULES", "somewhere")
    placement = Placement(tmp_path, tmp_path, None)
    passwords = {"postgres_web_password": "of the web", "postgres_loops_password": "of the loops"}
    postgres = EmbeddedPostgres(placement, {**SECRETS, **passwords})
    servers = {**_embedded(tmp_path), "postgresql": postgres}

    found = specs(make_stages(replace(read_options(), data_dir=tmp_path), servers))

    assert postgres.loops_url.startswith("postgresql://punctual_loops:of%20the%20loops@/punctual?")
    knows = {name for name, spec in found.items() if postgres.url in spec.environment.values()}
    assert knows == {"migrate", "bootstrap"}
    loops = {
        name for name, spec in found.items() if postgres.loops_url in spec.environment.values()
    }
    handlers = f"worker-{HANDLER_TARGET_DEFAULTS['pool']}-1"
    assert loops == {"migrate", "scheduler-1", "system-worker-1", "recorder-1", handlers}
    for name in loops - {"migrate"}:
        environment = found[name].environment
        assert environment["DATABASE_URL"] == postgres.loops_url
        assert (environment["LOOPS_DATABASE_URL"], environment["WEB_DATABASE_URL"]) == ("", "")
    assert found["worker-1"].environment["DATABASE_URL"] == ""


def test_a_given_server_has_a_role_of_the_loops_where_one_is_given(external):
    before = specs(make_stages(external, {}))["scheduler-1"].environment
    assert (before["DATABASE_URL"], before["LOOPS_DATABASE_URL"]) == (external.database_url, "")

    options = replace(external, loops_database_url="postgresql://loops@somewhere/db")
    found = specs(make_stages(options, {}))

    assert found["scheduler-1"].environment["DATABASE_URL"] == "postgresql://loops@somewhere/db"
    assert found["web-1"].environment["DATABASE_URL"] == external.database_url
    assert found["bootstrap"].environment["DATABASE_URL"] == external.database_url
    assert found["worker-1"].environment["DATABASE_URL"] == ""


def test_a_given_server_has_a_role_of_the_web_where_one_is_given(external):
    assert specs(make_stages(external, {}))["web-1"].environment["WEB_DATABASE_URL"] == ""

    options = replace(external, web_database_url="postgresql://web@somewhere/db")
    found = specs(make_stages(options, {}))

    assert found["web-1"].environment["DATABASE_URL"] == "postgresql://web@somewhere/db"
    assert found["recorder-1"].environment["DATABASE_URL"] == external.database_url


async def test_given_servers_are_asked_and_fail_the_start_as_unreachable(external):
    nowhere = replace(
        external, database_url="postgresql://127.0.0.1:1/x", redis_url="redis://127.0.0.1:1"
    )

    first, second = make_stages(nowhere, {})[:2]

    assert (first.failure_code, second.failure_code) == (5, 5)
    for stage in (first, second):
        assert stage.ready is not None
        assert await stage.ready() is False


def test_drain_order_names_every_kind_that_runs(external):
    kinds = {spec.kind for spec in specs(make_stages(external, {})).values()}

    named = [kind for group in DRAIN_ORDER for kind in group]
    assert kinds - {"migrate", "bootstrap"} <= set(named)
    assert named.index("scheduler") < named.index("worker") < named.index("recorder")
    assert named[-2:] == ["valkey", "postgresql"]


def test_commands_run_the_entry_point_of_this_checkout(external):
    argv = specs(make_stages(external, {}))["system-worker-1"].argv

    assert Path(argv[1]).name == "manage.py"
    assert argv[2:] == ("run_worker", "--pool", "system")


def test_who_is_in_no_hurry_stands_back_for_the_workers(external: UpOptions):
    planned = specs(make_stages(external, {}))

    assert {
        planned[name].niceness for name in ("scheduler-1", "recorder-1", "system-worker-1")
    } == {10}
    assert {planned[name].niceness for name in ("web-1", "worker-1")} == {0}


def test_the_embedded_database_stands_back_and_redis_does_not(tmp_path: Path):
    options = replace(read_options(), data_dir=tmp_path)
    planned = specs(make_stages(options, _embedded(tmp_path)))

    assert planned["postgresql"].niceness == 10
    assert planned["valkey"].niceness == 0


def test_the_fork_server_knows_no_database_and_no_first_secret(monkeypatch):
    withheld = ("DATABASE_URL", "REDIS_URL_FILE", "BOOTSTRAP_API_KEY", "ADMIN_PASSWORD_FILE")
    for name in withheld:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")

    known = fork_environment()

    assert not known.keys() & set(withheld)
    assert known["LOG_LEVEL"] == "DEBUG"


def test_commands_of_ours_are_forked_and_servers_executed(external, tmp_path):
    found = specs(make_stages(external, {}))

    assert all(spec.forked for spec in found.values())
    servers = _embedded(tmp_path)
    started = specs(make_stages(replace(external, database_url="", redis_url=""), servers))
    assert [name for name, spec in started.items() if not spec.forked] == ["postgresql", "valkey"]


def test_only_a_start_with_the_demo_makes_its_tenant_and_takes_trials(external, monkeypatch):
    monkeypatch.setenv("DEMO", "true")
    assert read_options().demo
    plain, demo = (specs(make_stages(replace(external, demo=one), {})) for one in (False, True))

    assert set(demo) - set(plain) == {"demo"}
    assert demo["demo"].argv[-2:] == ("demo", "seed")
    assert demo["demo"].environment["DATABASE_URL"] == "postgresql://somewhere/db"
    assert "--trials" in demo["receiver-1"].argv
    assert "--trials" not in plain["receiver-1"].argv
