from __future__ import annotations

import pwd
import subprocess

import pytest

from launcher.system_account import CannotMake, ensure

NAME = "no-such-account-yet"


class System:
    """Stands for the programs of a system, and writes down how they are called."""

    def __init__(self, *programs: str, says: str = "", code: int = 0) -> None:
        self.programs = programs
        self.says, self.code = says, code
        self.calls: list[list[str]] = []
        self.made = False

    def which(self, name: str, path: str) -> str | None:
        return f"/usr/sbin/{name}" if name in self.programs else None

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls.append(command)
        self.made = self.code == 0
        return subprocess.CompletedProcess(command, self.code, "", self.says)

    def getpwnam(self, name: str) -> pwd.struct_passwd:
        if not self.made:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", 990, 990, "", "/nonexistent", "/bin/false"))


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch):
    def of(made: System) -> System:
        monkeypatch.setattr("launcher.system_account.shutil.which", made.which)
        monkeypatch.setattr("launcher.system_account.subprocess.run", made.run)
        monkeypatch.setattr("launcher.system_account.pwd.getpwnam", made.getpwnam)
        return made

    return of


def test_an_account_that_there_is_is_taken_as_it_is():
    assert ensure("nobody") == pwd.getpwnam("nobody")


@pytest.mark.parametrize(
    ("programs", "first", "last"),
    [
        (("useradd", "adduser", "addgroup"), ["/usr/sbin/useradd", "--system"], NAME),
        (("adduser", "addgroup"), ["/usr/sbin/addgroup", "-S"], NAME),
    ],
)
def test_it_is_made_by_what_the_system_has_and_cannot_log_in(system, programs, first, last):
    found = system(System(*programs))

    assert ensure(NAME).pw_uid == 990

    assert found.calls[0][:2] == first
    assert found.calls[-1][-1] == last
    assert "/nonexistent" in found.calls[-1]
    shell = next(word for word in found.calls[-1] if word.endswith(("nologin", "false")))
    assert shell.startswith("/")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (System(), "neither useradd nor adduser"),
        (System("useradd", says="useradd: cannot lock /etc/passwd", code=1), "cannot lock"),
        (System("useradd", code=12), "exit code 12"),
    ],
)
def test_what_keeps_it_from_being_made_is_told(system, found, message):
    system(found)

    with pytest.raises(CannotMake, match=message):
        ensure(NAME)


def test_an_account_that_was_made_and_cannot_be_found_is_not_taken_for_made(system, monkeypatch):
    def unknown(name: str) -> pwd.struct_passwd:
        raise KeyError(name)

    system(System("useradd"))
    monkeypatch.setattr("launcher.system_account.pwd.getpwnam", unknown)

    with pytest.raises(CannotMake, match="does not show it"):
        ensure(NAME)
