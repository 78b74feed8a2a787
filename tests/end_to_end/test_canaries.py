"""Every secret of an installation at work, and all that leaves its processes: none is in any of it.

What is looked through: logs, the database, Redis with the broker in it, the export of a tenant, a
backup, and the command line and environment of every process. A secret may stand only where it was
given, or where it has to be: in the files of the keys, and in what was sent to its receiver.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import secrets
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from launcher import local_state
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.installation import Installation, installation
from tests.support.waiting import until

pytest.importorskip("authlib")
pytestmark = pytest.mark.slow

PASSPHRASE = f"canary-passphrase-{secrets.token_hex(8)}"
#: Files whose content is secrets.
_FILES_OF_KEYS = (local_state.SECRETS_FILE, local_state.RUNTIME_FILE)
_ONCE = {"schedule": {"delay_seconds": 0}, "retry_policy": {"max_attempts": 1}}
_LINK = re.compile(r"/invitations/([A-Za-z0-9_-]+)")
_ROWS = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r'"
                   " AND relnamespace = 'public'::regnamespace AND relname <> 'django_session'")
    for (table,) in cursor.fetchall():
        cursor.execute(f'SELECT row_to_json(t)::text FROM "{table}" AS t')
        for (row,) in cursor.fetchall():
            print(table, row)
"""
_REDIS = """
from scheduler_site.celery import app
from shared.redis_client import client
read = {
    b"string": lambda r, key: r.get(key),
    b"list": lambda r, key: r.lrange(key, 0, -1),
    b"hash": lambda r, key: r.hgetall(key),
    b"set": lambda r, key: r.smembers(key),
    b"zset": lambda r, key: r.zrange(key, 0, -1, withscores=True),
    b"stream": lambda r, key: r.xrange(key),
}
for server in (client(), app.connection().default_channel.client):
    for key in server.scan_iter():
        print(key, read[server.type(key)](server, key))
"""
_SECOND_FACTOR = """
from django.contrib.auth.models import User
from tenants.services.second_factors import begin_second_factor, pending_secret
user = User.objects.get(username="admin")
begin_second_factor(user.pk)
print("seed", pending_secret(user.pk))
"""


@dataclass
class Story:
    """An installation that has used each kind of secret, and these."""

    punctual: Installation
    folder: Path
    secrets: dict[str, str] = field(default_factory=dict)

    def found_in(self, text: str, *, but: tuple[str, ...] = ()) -> list[str]:
        """Return the kinds of secrets that a text holds, readable or as hex or base64."""
        return [
            kind
            for kind, secret in self.secrets.items()
            if kind not in but and any(form in text for form in _forms(secret))
        ]


def _forms(secret: str) -> list[str]:
    raw = secret.encode()
    return [secret, raw.hex(), base64.b64encode(raw).decode().rstrip("=")[:-2]]


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with (
        tempfile.TemporaryDirectory(prefix="punctual-canary-") as directory,
        http_receiver() as receiver,
    ):
        folder = Path(directory)
        folder.chmod(0o755)
        client_secret = _canary("client")
        providers = folder / "providers.json"
        provider = {
            "name": "acme",
            "issuer": "https://id.example.com",
            "client_id": "punctual",
            "client_secret": client_secret,
        }
        providers.write_text(json.dumps([provider]))
        providers.chmod(0o644)
        with installation(folder / "var") as made:
            made.start(
                WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32",
                ALLOWED_COMMANDS="sh=/bin/sh",
                COMMAND_VARIABLES="sh=TOKEN,NAMED",
                OIDC_PROVIDERS_FILE=str(providers),
                LOG_JSON="true",
            )
            told = Story(made, folder, {"OIDC client secret": client_secret})
            _use_everything(told, receiver)
            yield told
            made.stop()


def _canary(kind: str) -> str:
    return f"canary-{kind}-{secrets.token_hex(12)}"


def _use_everything(story: Story, receiver: HttpReceiver) -> None:
    kinds = ("payload", "header", "password", "named secret", "environment", "result")
    known = story.secrets
    known |= {kind: _canary(kind.replace(" ", "-")) for kind in kinds}
    punctual = story.punctual
    receiver.body, receiver.status = known["result"].encode(), 500
    secret = {"name": "token", "value": known["named secret"], "hosts": ["*"], "commands": ["*"]}
    punctual.call("POST", "/v1/secrets", secret)
    basic = {"type": "basic", "username": "punctual", "password": known["password"]}
    made = [_command(punctual, known), _webhook(punctual, receiver, known, basic)]
    until(lambda: all(_has_failed(punctual, one) for one in made))
    # As a careless receiver does.
    receiver.body = f"{known['named secret']} {known['result']}".encode()
    bearer = {"type": "bearer", "token": "{{ secrets.token }}"}
    made = [_webhook(punctual, receiver, known, bearer)]
    until(lambda: all(_has_failed(punctual, one) for one in made))
    made = [_webhook(punctual, receiver, known, bearer, completion="callback")]
    until(lambda: all(_has_failed(punctual, one) for one in made))
    known["execution token"] = receiver.requests[-1].headers["x-execution-token"]
    known["API key"] = punctual.call("POST", "/v1/api-keys", {"name": "k", "scopes": ["read"]})[
        "key"
    ]
    known["signing secret"] = punctual.call("POST", "/v1/signing-secrets/rotate", {})["secret"]
    known["invitation token"] = _invited(punctual)
    known["session"] = _session(punctual)
    known["TOTP seed"] = _said(punctual, _SECOND_FACTOR).rpartition("seed ")[2].split()[0]
    known |= _keys_of(punctual)


def _webhook(
    punctual: Installation,
    receiver: HttpReceiver,
    known: dict[str, str],
    auth: dict[str, str],
    **parts: str,
) -> str:
    target = {"url": receiver.url, "headers": {"X-Api-Key": known["header"]}, "auth": auth}
    target |= parts
    body = {**_ONCE, "name": "webhook", "payload": {"text": known["payload"]}, "target": target}
    made: str = punctual.call("POST", "/v1/tasks", body)["id"]
    return made


def _command(punctual: Installation, known: dict[str, str]) -> str:
    script = "echo $TOKEN $NAMED; echo $NAMED >&2; exit 3"
    target = {
        "kind": "command",
        "command": "sh",
        "arguments": ["-c", script],
        "environment": {"TOKEN": known["environment"], "NAMED": "{{ secrets.token }}"},
    }
    made: str = punctual.call("POST", "/v1/tasks", {**_ONCE, "name": "command", "target": target})[
        "id"
    ]
    return made


def _has_failed(punctual: Installation, task: str) -> bool:
    found = punctual.call("GET", f"/v1/tasks/{task}/executions")["executions"]
    return [one["status"] for one in found] == ["FAILED"]


def _invited(punctual: Installation) -> str:
    """Invite a person, who opens the link of the mail; return the token in it."""
    offer = {"email": "new@example.com", "role": "viewer"}
    punctual.call("POST", "/v1/members/invitations", offer)

    def token() -> str:
        for path in punctual.data_dir.glob("mail/*.eml"):
            mail = message_from_bytes(path.read_bytes(), policy=policy.default)
            text = mail.get_body(("plain",))
            if found := _LINK.search(text.get_content() if text else ""):
                return found[1]
        return ""

    found = until(token)
    _opened(punctual, f"/invitations/{found}")
    return found


def _opened(punctual: Installation, path: str) -> list[str]:
    """Open a page as a browser does; return the cookies that it sets."""
    connection = http.client.HTTPConnection("127.0.0.1", punctual.port, timeout=300)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status < 400, answer.status
        return answer.headers.get_all("Set-Cookie") or []
    finally:
        connection.close()


def _session(punctual: Installation) -> str:
    """Sign in by a one-time link; return the key of the session."""
    made = punctual.manage("accounts", "login-link", "admin", "--json")
    assert made.returncode == 0, made.stderr
    path = "/" + json.loads(made.stdout)["login_url"].partition("//")[2].partition("/")[2]
    cookies = _opened(punctual, path)
    [session] = [one for one in cookies if one.startswith("sessionid=")]
    return session.partition("=")[2].partition(";")[0]


def _keys_of(punctual: Installation) -> dict[str, str]:
    """Return the secrets that the installation has made for itself."""
    found = local_state.load_secrets(punctual.data_dir)
    kept = {name: str(value) for name, value in found.items() if len(str(value)) >= 16}
    assert len(kept) >= 3
    # A word of ids and keys: the key alone is the secret.
    return {name: value.rpartition(":")[2] for name, value in kept.items()}


def _said(punctual: Installation, script: str) -> str:
    ran = punctual.manage("shell", "-v", "0", "-c", script)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _below(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            yield child
            yield from _below(child)


def test_no_secret_is_in_what_any_process_has_logged(story: Story):
    logs = [path for path in story.punctual.data_dir.rglob("*.log") if path.is_file()]

    assert logs
    # What failed has been logged, and nothing but JSON.
    events = [json.loads(line)["event"] for line in story.punctual.output.splitlines()]
    assert "execution.failed" in events
    for path in logs:
        assert story.found_in(path.read_text(errors="replace")) == [], path


def test_no_secret_is_readable_in_any_row_of_the_database(story: Story):
    rows = _said(story.punctual, _ROWS)

    assert "tasks" in rows
    leaking = {line.split()[0] for line in rows.splitlines() if story.found_in(line)}
    assert leaking == set()


def test_no_secret_is_readable_in_redis(story: Story):
    held = _said(story.punctual, _REDIS)

    assert "punctual:" in held
    assert story.found_in(held) == []


def test_no_secret_is_in_the_command_line_or_the_environment_of_a_process(story: Story):
    assert story.punctual.process is not None
    supervisor = story.punctual.process.pid
    seen = 0
    for pid in (supervisor, *_below(supervisor)):
        for part in ("cmdline", "environ"):
            try:
                text = Path(f"/proc/{pid}/{part}").read_bytes().decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
            seen += 1
            assert story.found_in(text) == [], (pid, part)
    assert seen > 10


def test_no_secret_is_in_an_export_and_payloads_only_where_asked_for(story: Story):
    for more, allowed in (
        ((), ()),
        (("--with-payloads",), ("payload", "result", "environment")),
    ):
        path = story.folder / f"export{len(more)}.zip"
        made = story.punctual.manage("tenant", "export", "default", "--to", str(path), *more)
        assert made.returncode == 0, made.stderr
        with zipfile.ZipFile(path) as archive:
            text = "\n".join(archive.read(name).decode() for name in archive.namelist())
        assert story.found_in(text, but=allowed) == []
        assert story.found_in(made.stdout + made.stderr) == []


def test_no_secret_is_readable_in_a_backup_or_said_while_it_is_made(story: Story):
    path = story.folder / "backup.bin"
    os.environ["BACKUP_PASSPHRASE"] = PASSPHRASE
    try:
        made = story.punctual.manage("backup", "--to", str(path))
    finally:
        del os.environ["BACKUP_PASSPHRASE"]

    assert made.returncode == 0, made.stderr
    assert story.found_in(path.read_bytes().decode("latin-1")) == []
    said = made.stdout + made.stderr
    assert story.found_in(said) == []
    assert PASSPHRASE not in said


def test_the_files_of_the_installation_hold_no_secret_but_those_of_its_keys(story: Story):
    data = story.punctual.data_dir
    leaking = []
    for path in data.rglob("*"):
        inside = path.relative_to(data).parts
        # The servers' own files are looked through by what they answer.
        if not path.is_file() or inside[0] in ("postgres", "valkey", "receiver"):
            continue
        if path.name in _FILES_OF_KEYS:
            assert path.stat().st_mode & 0o077 == 0, path
            continue
        # Members who see payloads are mailed the begin of an answer, guests their link.
        shown = ("result", "invitation token") if inside[0] == "mail" else ()
        if found := story.found_in(path.read_bytes().decode("latin-1"), but=shown):
            leaking.append((str(path.relative_to(data)), found))
    assert leaking == []
