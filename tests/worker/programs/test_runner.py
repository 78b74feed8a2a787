"""Commands in real processes, through the worker's door for all kinds."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from shared.conf import conf
from shared.fair_slots import Caller
from shared.named_secrets.bindings import Binding
from shared.named_secrets.sealed import seal_secret
from tests.support import time_is_up
from tests.support.entries import capture_of, entry_of, log_of, result_of
from tests.support.liveness import lives
from tests.support.waiting import until
from worker.kinds import Kinds

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another account")
BATCH: Any = {"offset": 0.0, "secrets": {}}


@pytest.fixture
async def kinds(tmp_path: Path, settings: Settings) -> AsyncIterator[Kinds]:
    gone = tmp_path / "gone"
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    settings.PUNCTUAL = replace(
        conf(),
        allowed_commands={
            "sh": "/bin/sh", "env": "/usr/bin/env", "cat": "/bin/cat", "echo": "/bin/echo",
            "gone": str(gone), "plain": str(plain),
        },
        command_variables={"env": ("REGION",), "sh": ("TOKEN",)},
    )  # fmt: skip
    made = Kinds(lambda said: None, time.time)
    yield made
    await made.close()


def shell(script: str, *arguments: str, **parts: Any) -> Any:
    """Return an entry that runs a script; the shell is the allowed program here."""
    return entry_of("command", command="sh", arguments=["-c", script, *arguments], **parts)


async def run(kinds: Kinds, entry: Any) -> Any:
    return await kinds.deliver(entry, BATCH, entry["scheduled_for"])


async def test_a_command_gets_the_arguments_of_its_sealed_part(kinds: Kinds) -> None:
    entry = entry_of("command", command="echo", sealed={"arguments": ["one", "two"]})
    del entry["target"]["arguments"]

    outcome = await run(kinds, entry)

    assert outcome["verb"] == "succeeded"
    assert log_of(entry, outcome) == "one two\n"


async def test_a_command_without_any_arguments_in_its_version_is_not_run(kinds: Kinds) -> None:
    entry = entry_of("command", command="echo")
    del entry["target"]["arguments"]

    with pytest.raises(KeyError):
        await run(kinds, entry)


def runs_as(account: int, command: bytes) -> bool:
    """Return whether a process of this account runs the command."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command_of = process / "cmdline"
            if process.stat().st_uid == account and command_of.read_bytes() == command:
                return True
    return False


def there(path: str) -> bool:
    return Path(path).exists()


async def test_a_program_gets_its_payload_and_its_output_is_the_result(kinds):
    entry = entry_of("command", command="cat", payload={"n": [1, "ü"]})

    outcome = await run(kinds, entry)

    assert (outcome["verb"], outcome["outcome"]) == ("succeeded", "SUCCEEDED")
    assert result_of(entry, outcome) == {"n": [1, "ü"]}
    assert capture_of(entry, outcome)["exit_code"] == 0


async def test_a_program_waits_for_its_slot_in_the_order_of_its_tenant(
    kinds: Kinds, callers: list[Caller]
):
    entry = shell("true", parts={"weight": 4, "due": 7.0})

    await run(kinds, entry)

    assert callers == [Caller(entry["tenant"], 4, 5, 7.0)]


@pytest.mark.parametrize(
    "output", ['{"id": 18446744073709551616}', '{"a": 1, "a": 2}', '"\\u0000"', "1e400"]
)
async def test_output_that_json_would_change_is_only_logged(kinds, output):
    entry = shell(f"printf '%s' '{output}'")

    outcome = await run(kinds, entry)

    assert "result" not in outcome


async def test_output_that_is_no_json_is_only_logged(kinds):
    entry = shell("echo out; echo err >&2")

    outcome = await run(kinds, entry)

    assert "result" not in outcome
    assert sorted(log_of(entry, outcome).splitlines()) == ["err", "out"]


async def test_arguments_are_never_read_by_a_shell(kinds):
    words = ["$HOME", "`id`", "; touch /tmp/x", "*", "a b"]
    entry = entry_of("command", command="echo", arguments=words)

    outcome = await run(kinds, entry)

    assert log_of(entry, outcome) == " ".join(words) + "\n"


async def test_the_environment_holds_what_is_given_and_nothing_of_the_worker(kinds, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "s3cret")
    entry = entry_of("command", command="env", sealed={"environment": {"REGION": "eu"}})

    outcome = await run(kinds, entry)

    found = dict(line.split("=", 1) for line in log_of(entry, outcome).splitlines())
    assert found.pop("PUNCTUAL_SCHEDULED_FOR").endswith("Z")
    # The loader of C sets this one by itself in some locales.
    found.pop("LC_CTYPE", None)
    assert found == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "REGION": "eu",
        "PUNCTUAL_EXECUTION_ID": entry["id"],
        "PUNCTUAL_TASK_ID": entry["task"],
        "PUNCTUAL_ATTEMPT": "1",
        "PUNCTUAL_IDEMPOTENCY_KEY": entry["id"],
    }


async def test_it_runs_in_a_directory_of_its_own_that_is_gone_afterwards(kinds):
    entry = shell("pwd; touch a; mkdir b; ls")

    outcome = await run(kinds, entry)

    directory, *listed = log_of(entry, outcome).splitlines()
    assert listed == ["a", "b"]
    assert Path(directory) != Path.cwd()
    assert not there(directory)


async def test_only_its_own_three_descriptors_are_open(kinds):
    entry = shell("ls /proc/$$/fd")

    outcome = await run(kinds, entry)

    assert log_of(entry, outcome).split() == ["0", "1", "2"]


async def test_a_wrong_exit_code_is_a_failure_that_is_tried_again(kinds):
    entry = shell("echo why >&2; exit 3")

    outcome = await run(kinds, entry)

    assert (outcome["verb"], outcome["outcome"]) == ("retrying", "FAILED")
    assert outcome["error_code"] == "command_failed"
    assert outcome["error_message"] == "The program ended with exit code 3."
    assert capture_of(entry, outcome)["exit_code"] == 3
    assert log_of(entry, outcome) == "why\n"


async def test_other_exit_codes_may_be_success(kinds):
    outcome = await run(kinds, shell("exit 3", success_exit_codes=[0, 3]))

    assert outcome["outcome"] == "SUCCEEDED"


async def test_a_program_that_dies_is_a_failure_and_no_lost_worker(kinds):
    outcome = await run(kinds, shell("kill -SEGV $$"))

    assert (outcome["outcome"], outcome.get("lost", 0)) == ("FAILED", 0)
    assert outcome["error_message"] == "The program was ended by SIGSEGV."


async def test_of_much_output_the_beginning_and_the_end_are_kept(kinds):
    script = "echo first; i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; echo last"  # noqa: E501 - a script
    entry = shell(script, output_bytes=4096)

    outcome = await run(kinds, entry)

    log = log_of(entry, outcome)
    assert outcome["outcome"] == "SUCCEEDED"
    assert capture_of(entry, outcome)["truncated"]
    assert log.startswith("first\n")
    assert log.endswith("last\n")
    assert len(log) < 5000
    assert re.search(r"\d{6} bytes left out", log)


async def test_more_memory_than_allowed_ends_the_program_only(kinds):
    entry = shell(
        'x=0123456789; while :; do x="$x$x"; done',
        memory_bytes=64 * 1024 * 1024,
        timeout_seconds=60,
    )

    outcome = await run(kinds, entry)
    after = await run(kinds, shell("exit 0"))

    assert (outcome["outcome"], outcome["error_code"]) == ("FAILED", "command_failed")
    assert after["outcome"] == "SUCCEEDED"


async def test_when_its_time_is_up_it_is_asked_to_end(kinds, tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    script = (
        f"trap 'echo tidied; exit 0' TERM; echo begun; echo > {begun}; while :; do sleep 0.05; done"
    )
    time_is_up.when(monkeypatch, begun.exists)
    entry = shell(script, timeout_seconds=60, cancel_grace_seconds=60)

    outcome = await run(kinds, entry)

    assert (outcome["verb"], outcome["outcome"]) == ("retrying", "TIMED_OUT")
    assert outcome["error_code"] == "timeout_total"
    log = log_of(entry, outcome)
    assert (log.startswith("begun\n"), log.endswith("tidied\n")) == (True, True)


async def test_who_is_deaf_is_killed_with_all_it_has_started(kinds, tmp_path):
    pids = tmp_path / "pids"
    script = f"trap '' TERM; sleep 600 & echo $! $$ > {pids}; wait; while :; do sleep 1; done"
    entry = shell(script, timeout_seconds=60, cancel_grace_seconds=0.1)
    running = asyncio.ensure_future(run(kinds, entry))
    await asyncio.to_thread(until, lambda: pids.exists() and pids.read_text().strip())

    running.cancel()
    outcome = await running

    assert (outcome["verb"], outcome["outcome"]) == ("cancelled", "CANCELLED")
    for pid in pids.read_text().split():
        until(lambda pid=pid: not lives(int(pid)))  # type: ignore[misc]  # a default of a lambda


async def test_what_it_leaves_behind_ends_with_it(kinds):
    entry = shell("sleep 600 & echo $!")

    outcome = await run(kinds, entry)

    assert outcome["outcome"] == "SUCCEEDED"
    pid = int(log_of(entry, outcome))
    until(lambda: not lives(pid))


async def test_a_stopping_worker_hands_the_run_to_another(kinds, tmp_path):
    begun = tmp_path / "begun"
    running = asyncio.ensure_future(run(kinds, shell(f"touch {begun}; sleep 600")))
    await asyncio.to_thread(until, begun.exists)

    kinds.interrupt(5.0)
    outcome = await running

    assert (outcome["verb"], outcome["retry_in"]) == ("retrying", 0.0)
    assert outcome["outcome"] == "WORKER_LOST"
    assert (await run(kinds, shell("exit 0")))["outcome"] == "WORKER_LOST"


async def test_a_program_that_is_gone_is_said(kinds):
    outcome = await run(kinds, entry_of("command", command="gone"))

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "command_failed")
    assert "No such file" in outcome["error_message"]


async def test_a_file_that_is_no_program_is_said(kinds):
    outcome = await run(kinds, entry_of("command", command="plain"))

    assert "Permission denied" in outcome["error_message"]


async def test_what_is_not_allowed_is_never_run(kinds):
    outcome = await run(kinds, entry_of("command", command="bash"))

    assert (outcome["verb"], outcome["reason"]) == ("failed", "not_retryable")
    assert outcome["error_message"] == "ALLOWED_COMMANDS has no command 'bash'."


@pytest.mark.parametrize("name", ["PERL5OPT", "LD_PRELOAD", "HOME", "region"])
async def test_a_variable_that_the_command_does_not_take_keeps_it_from_running(kinds, name):
    entry = entry_of("command", command="env", sealed={"environment": {"REGION": "eu", name: "x"}})

    outcome = await run(kinds, entry)

    assert (outcome["verb"], outcome["reason"]) == ("failed", "not_retryable")
    assert outcome["error_message"] == f"COMMAND_VARIABLES does not let 'env' get {name}."


async def test_only_the_tenants_of_a_command_run_it(kinds, settings):
    entry = entry_of("command", command="echo")
    own: tuple[str, ...] = (entry["tenant"],)
    settings.PUNCTUAL = replace(conf(), command_tenants={"echo": own})

    allowed = await run(kinds, entry)
    refused = await run(kinds, entry_of("command", command="echo"))

    assert allowed["outcome"] == "SUCCEEDED"
    assert refused["reason"] == "not_retryable"
    assert "COMMAND_TENANTS" in refused["error_message"]


async def test_an_account_that_there_is_not_runs_nothing(kinds, settings):
    settings.PUNCTUAL = replace(conf(), command_user="no-such-user")

    outcome = await run(kinds, shell("exit 0"))

    assert outcome["reason"] == "not_retryable"
    assert "no-such-user" in outcome["error_message"]


@root_only
async def test_root_runs_programs_as_an_account_that_can_do_nothing_to_the_worker(kinds, settings):
    settings.PUNCTUAL = replace(conf(), command_user="65532")
    environ = f"/proc/{os.getpid()}/environ"
    script = (
        "id -u; id -g; id -G; cat; echo kept > file; cat file; echo out > /dev/stdout; "
        f"cat {environ} > /dev/null 2>&1 || echo unread; kill -0 {os.getpid()} || echo unhurt"
    )

    entry = shell(script, payload={"n": 1})
    outcome = await run(kinds, entry)

    said = log_of(entry, outcome).splitlines()
    assert said[:3] == ["65532", "65532", "65532"]
    assert '{"n":1}kept' in said
    assert {"out", "unread", "unhurt"} <= set(said)


@root_only
async def test_a_program_of_another_account_is_ended_with_all_it_has_started(
    kinds, settings, monkeypatch
):
    settings.PUNCTUAL = replace(conf(), command_user="65532")
    time_is_up.when(monkeypatch, lambda: runs_as(65532, b"sleep\x00601\x00"))
    script = "trap '' TERM; sleep 600 & echo $!; sleep 601"
    entry = shell(script, timeout_seconds=60, cancel_grace_seconds=0)

    outcome = await run(kinds, entry)

    assert outcome["outcome"] == "TIMED_OUT"
    pid = int(log_of(entry, outcome))
    until(lambda: not lives(pid))


async def test_without_the_setting_nothing_is_run(kinds, settings):
    settings.PUNCTUAL = replace(conf(), allowed_commands={})

    outcome = await run(kinds, shell("exit 0"))

    assert outcome["reason"] == "not_retryable"
    assert "ALLOWED_COMMANDS is not set" in outcome["error_message"]


async def test_what_was_sealed_under_a_key_that_is_gone_is_tried_again(kinds, settings):
    entry = shell("exit 0")
    settings.PUNCTUAL = replace(conf(), encryption_keys={"other": b"x" * 32})

    outcome = await run(kinds, entry)

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "internal")


def with_secret(value: str, *commands: str, **parts: Any) -> tuple[Any, Any]:
    """Return a script's entry that gets a named secret, and its message."""
    sealed = {"environment": parts.pop("environment", {"TOKEN": "t={{ secrets.token }}"})}
    entry = shell(*parts.pop("script"), sealed=sealed, named_secrets=["token"], **parts)
    blob = seal_secret(entry["tenant"], "token", value, Binding(commands=commands))
    sent = {entry["tenant"]: {"token": base64.b64encode(blob).decode()}}
    return entry, {**BATCH, "named_secrets": sent}


async def test_a_command_gets_its_named_secret_and_its_output_keeps_none(kinds: Kinds):
    script = 'test "$TOKEN" = t=s3cret-value && echo "$TOKEN" && echo "$TOKEN" >&2'
    entry, message = with_secret("s3cret-value", "sh", script=[script])

    outcome = await kinds.deliver(entry, message, entry["scheduled_for"])

    assert outcome["verb"] == "succeeded"
    assert log_of(entry, outcome) == "t=[redacted]\nt=[redacted]\n"


async def test_a_log_that_is_cut_within_a_secret_keeps_no_part_of_it(kinds: Kinds):
    script = ["printf '%0500d' 0; printf %s $TOKEN; printf '%02500d' 0"]
    entry, message = with_secret("s3cret-value-0815", "sh", script=script, output_bytes=1024)

    outcome = await kinds.deliver(entry, message, entry["scheduled_for"])

    log = log_of(entry, outcome)
    assert "left out" in log
    assert "s3cret" not in log


async def test_a_result_that_repeats_a_secret_is_kept_masked(kinds: Kinds):
    entry, message = with_secret("s3cret-value", "*", script=['echo "\\"$TOKEN\\""'])

    outcome = await kinds.deliver(entry, message, entry["scheduled_for"])

    assert "s3cret" not in str(result_of(entry, outcome))


@pytest.mark.parametrize("message_of", [lambda message: message, lambda message: BATCH])
async def test_a_command_without_the_right_to_a_secret_does_not_run(
    kinds: Kinds, tmp_path: Path, message_of: Any
):
    entry, message = with_secret("s3cret-value", "other", script=[f"touch {tmp_path}/ran"])

    outcome = await kinds.deliver(entry, message_of(message), entry["scheduled_for"])

    assert (outcome["verb"], outcome["error_code"]) == ("failed", "secret_unavailable")
    assert not (tmp_path / "ran").exists()
