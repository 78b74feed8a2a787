"""Django's deployment check over the settings of a deployment, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_KEY = "k:" + "A" * 43 + "="


def check(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "SECRET_KEY": "a-long-secret-of-a-deployment-with-many-different-letters-0123456789",
        "ENCRYPTION_KEYS": _KEY,
        "AUDIT_KEYS": _KEY,
        "DATABASE_URL": "postgresql://punctual@127.0.0.1:1/punctual",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "ALLOWED_HOSTS": "punctual.example.com",
        "PUBLIC_URL": "https://punctual.example.com",
        "TRUSTED_PROXIES": "127.0.0.1",
        "TLS": "true",
        "HSTS_PRELOAD": "true",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=_ROOT,
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_deployment_behind_tls_passes_the_check_without_a_warning(tmp_path: Path):
    found = check(tmp_path)

    assert found.returncode == 0, found.stderr
    assert "no issues" in found.stdout


@pytest.mark.parametrize(
    ("loosened", "warning"),
    [
        ({"DEBUG": "true"}, "security.W018"),
        ({"TLS": "false", "PUBLIC_URL": "http://punctual.example.com"}, "security.W012"),
        ({"SECRET_KEY": "short"}, "security.W009"),
        ({"OIDC_PROVIDERS": "{}"}, "punctual.E002"),
    ],
    ids=["debug", "no tls", "weak secret", "bad provider"],
)
def test_what_is_loosened_is_told(tmp_path: Path, loosened: dict[str, str], warning: str):
    found = check(tmp_path, **loosened)

    assert found.returncode != 0
    assert warning in found.stderr
