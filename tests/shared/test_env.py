"""Environment readers refuse what they cannot use, by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from shared import env


def test_text_comes_from_the_variable_or_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KNOB", raising=False)
    assert env.text("KNOB", "else") == "else"
    monkeypatch.setenv("KNOB", "")
    assert env.text("KNOB", "else") == ""


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush\n")
    monkeypatch.delenv("KNOB", raising=False)
    monkeypatch.setenv("KNOB_FILE", str(tmp_path / "secret"))
    assert env.text("KNOB") == "hush"


def test_a_missing_secret_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KNOB", raising=False)
    monkeypatch.setenv("KNOB_FILE", str(tmp_path / "absent"))
    with pytest.raises(ImproperlyConfigured, match="KNOB_FILE"):
        env.text("KNOB")


@pytest.mark.parametrize(("word", "meaning"), [("1", True), ("TRUE", True), ("off", False)])
def test_a_truth_value_has_few_words(
    monkeypatch: pytest.MonkeyPatch, word: str, meaning: bool
) -> None:
    monkeypatch.setenv("KNOB", word)
    assert env.boolean("KNOB", default=not meaning) is meaning


@pytest.mark.parametrize("word", ["maybe", "2", "yess"])
def test_other_words_are_no_truth_values(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("KNOB", word)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        env.boolean("KNOB", default=False)


@pytest.mark.parametrize("word", ["x", "1.5", "-1", "101"])
def test_numbers_beyond_their_bounds_are_refused(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("KNOB", word)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        env.integer("KNOB", 1, minimum=0, maximum=100)


def test_an_empty_number_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", "")
    assert env.integer("KNOB", 7) == 7
    monkeypatch.setenv("KNOB", "2.5")
    assert env.decimal("KNOB", 1.0) == 2.5


def test_words_are_separated_by_commas_or_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", "a, b  c")
    assert env.words("KNOB") == ("a", "b", "c")


def test_programs_are_paths_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", "backup=/opt/backup, report=/opt/a=b")
    assert env.programs("KNOB") == {"backup": "/opt/backup", "report": "/opt/a=b"}
    monkeypatch.delenv("KNOB")
    assert env.programs("KNOB") == {}


@pytest.mark.parametrize(
    "word", ["backup", "backup=", "backup=bin/backup", "=/bin/sh", "a=/a a=/b"]
)
def test_a_program_without_name_or_absolute_path_is_refused(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("KNOB", word)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        env.programs("KNOB")


_TENANT = "0199aaaa-0000-7000-8000-000000000001"


def test_variables_and_tenants_are_listed_by_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", "backup=REGION,DRY_RUN  report=LANG")
    assert env.variables("KNOB", {"backup", "report"}) == {
        "backup": ("REGION", "DRY_RUN"),
        "report": ("LANG",),
    }
    monkeypatch.setenv("KNOB", f"backup={_TENANT}")
    assert env.tenants("KNOB", ["backup"]) == {"backup": (_TENANT,)}
    monkeypatch.delenv("KNOB")
    assert env.variables("KNOB", ()) == env.tenants("KNOB", ()) == {}


@pytest.mark.parametrize(
    "words",
    ["backup", "backup=", "backup=A,", "backup=1A", "backup=A-B", "backup=PUNCTUAL_TASK_ID",
     "backup=A backup=B", "other=A", "=A", "backup=*"],
)  # fmt: skip
def test_variables_that_cannot_be_meant_are_refused(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("KNOB", words)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        env.variables("KNOB", {"backup"})


@pytest.mark.parametrize("word", ["acme", _TENANT.upper(), _TENANT.replace("-", ""), f"{_TENANT},"])
def test_tenants_are_told_by_their_ids_alone(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("KNOB", f"backup={word}")
    with pytest.raises(ImproperlyConfigured, match="ID-OF-A-TENANT"):
        env.tenants("KNOB", {"backup"})


def test_addresses_and_networks_are_read_as_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", "127.0.0.1, 10.1.2.3/8 ::1 2001:db8::/32")
    assert env.networks("KNOB") == ("127.0.0.1/32", "10.0.0.0/8", "::1/128", "2001:db8::/32")
    monkeypatch.delenv("KNOB")
    assert env.networks("KNOB") == ()


@pytest.mark.parametrize("word", ["*", "proxy.example.com", "10.0.0.0/33", "127.0.0.1:80"])
def test_what_is_no_network_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("KNOB", f"127.0.0.1 {word}")
    with pytest.raises(ImproperlyConfigured, match=r"KNOB.*not"):
        env.networks("KNOB")


_BOUNDS = {"tasks": (0, 100), "rate": (1, 10)}


def test_tiers_are_named_sets_of_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOB", '{"small": {"tasks": 5}, "default": {}}')
    assert env.tiers("KNOB", _BOUNDS, longest=8) == {"small": {"tasks": 5}, "default": {}}
    monkeypatch.setenv("KNOB", " ")
    assert env.tiers("KNOB", _BOUNDS, longest=8) == {}


@pytest.mark.parametrize(
    "text",
    [
        "small",
        "[]",
        '{"small": 5}',
        '{"Small": {}}',
        '{"": {}}',
        '{"muchtoolong": {}}',
        '{"small": {"task": 5}}',
        '{"small": {"tasks": -1}}',
        '{"small": {"tasks": true}}',
        '{"small": {"tasks": 5.0}}',
        '{"small": {"rate": 0}}',
    ],
)
def test_tiers_that_cannot_be_meant_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KNOB", text)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        env.tiers("KNOB", _BOUNDS, longest=8)


def test_a_token_is_absent_or_too_long_to_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KNOB", raising=False)
    assert env.secret("KNOB", shortest=8) == ""
    monkeypatch.setenv("KNOB", "12345678")
    assert env.secret("KNOB", shortest=8) == "12345678"


@pytest.mark.parametrize("word", ["1234567", "1234567\n8", "ü2345678"])
def test_a_token_that_is_short_or_cannot_be_sent_is_refused_unshown(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("KNOB", word)
    with pytest.raises(ImproperlyConfigured, match="KNOB") as refused:
        env.secret("KNOB", shortest=8)
    assert word not in str(refused.value)
