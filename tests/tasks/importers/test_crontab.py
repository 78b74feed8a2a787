from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from tasks.importers.crontab import (
    Entry,
    Refused,
    definition_body,
    identities,
    is_system_path,
    parse_crontab,
)
from tasks.limits import NAME_LENGTH
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import LIMITS, NOW

SYSTEM = Path(__file__).resolve().parents[2] / "data" / "cron.d" / "system"


def _one(text: str, *, system: bool = False, timezone: str = "UTC") -> Entry:
    (found,) = parse_crontab(text, system=system, timezone=timezone)
    assert isinstance(found, Entry), found
    return found


def _entries(text: str, **options: str) -> list[Entry]:
    jobs = parse_crontab(text, system=False, **options)
    return [job for job in jobs if isinstance(job, Entry)]


def _refusal(text: str, *, system: bool = False) -> str:
    (found,) = parse_crontab(text, system=system)
    assert isinstance(found, Refused), found
    return found.reason


def test_a_crontab_as_packages_install_it_is_read_line_by_line():
    jobs = parse_crontab(SYSTEM.read_text(), system=True, timezone="Europe/Berlin")
    entries = [job for job in jobs if isinstance(job, Entry)]

    assert len(entries) == 34
    assert [(job.line, job.text) for job in jobs if isinstance(job, Refused)] == [
        (71, "@reboot root /usr/share/atop/atop.daily")
    ]
    assert {entry.user for entry in entries} == {
        *("root", "list", "munin", "www-data", "man", "backup")
    }


def test_the_command_is_what_the_shell_would_get():
    by_line = {
        job.line: job
        for job in parse_crontab(SYSTEM.read_text(), system=True)
        if isinstance(job, Entry)
    }

    checkarray, awstats = by_line[29], by_line[56]
    assert checkarray.expression == "57 0 * * 0"
    assert checkarray.command.startswith("if [ -x /usr/share/mdadm/checkarray ] && [ $(date +%d)")
    assert (awstats.expression, awstats.user) == ("10 03 * * *", "www-data")


def test_a_system_crontab_has_a_user_before_the_command():
    line = "5-55/10 * * * *\troot\tcommand -v debian-sa1 > /dev/null && debian-sa1 1 1\n"

    entry = _one(line, system=True)

    assert (entry.user, entry.expression) == ("root", "5-55/10 * * * *")
    assert entry.command == "command -v debian-sa1 > /dev/null && debian-sa1 1 1"


def test_a_personal_crontab_has_no_user():
    entry = _one("0 2 * * mon-fri backup --all\n")

    assert (entry.user, entry.command) == (None, "backup --all")


def test_a_missing_user_column_is_refused_by_name():
    reason = _refusal("17 * * * * /usr/bin/true\n", system=True)

    assert "'/usr/bin/true' is not a user name" in reason
    assert "--no-system" in reason
    assert "no command" in _refusal("17 * * * * backup.sh\n", system=True)
    assert "no user" in _refusal("@daily\n", system=True)


def test_a_system_crontab_that_is_read_as_a_personal_one_is_noticed():
    assert "--system" in _one("17 * * * * root true\n").notes[0]


def test_comments_blank_lines_and_variables_are_no_jobs():
    text = (
        "# comment\n\n   \t\nSHELL=/bin/bash\n  # indented\nMAILTO = \"\"\nPATH='/bin:/usr/bin' \n"
    )

    assert parse_crontab(text, system=True) == []


def test_variables_hold_for_the_lines_below():
    text = "A=1\n0 1 * * * one\nA=\"2 \"\nB=' x'\n0 2 * * * two\n"

    one, two = _entries(text)

    assert one.environment == {"A": "1"}
    assert two.environment == {"A": "2 ", "B": " x"}


def test_an_assignment_in_a_command_is_part_of_the_command():
    assert _one("* * * * * FOO=bar run x=y\n").command == "FOO=bar run x=y"


def test_cron_tz_sets_the_zone_of_the_lines_below():
    text = "0 1 * * * a\nCRON_TZ=America/New_York\n0 1 * * * b\nCRON_TZ=\n0 1 * * * c\n"

    zones = [entry.timezone for entry in _entries(text, timezone="Asia/Tokyo")]

    assert zones == ["Asia/Tokyo", "America/New_York", "Asia/Tokyo"]


def test_an_unknown_zone_refuses_the_lines_that_it_holds_for():
    reason = _refusal("CRON_TZ=Mars/Olympus\n0 1 * * * a\n")

    assert reason.startswith("CRON_TZ=Mars/Olympus: ")


def test_a_random_delay_becomes_jitter():
    entry = _one("RANDOM_DELAY=45\n0 1 * * * a\n")

    assert entry.schedule["jitter_seconds"] == 45 * 60
    assert "up to 45 min" in entry.notes[0]
    assert "0 to 1440" in _refusal("RANDOM_DELAY=much\n")
    # Python refuses to read a number of that many digits.
    assert "0 to 1440" in _refusal(f"RANDOM_DELAY={'9' * 5000}\n")


@pytest.mark.parametrize(
    ("command", "read", "stdin"),
    [
        ("date +\\%d", "date +%d", None),
        ("mail root%Hello%World", "mail root", "Hello\nWorld"),
        ("mail root%50\\% done", "mail root", "50% done"),
        ("cat%", "cat", ""),
        ("plain", "plain", None),
    ],
)
def test_an_unescaped_percent_sign_begins_the_input(command, read, stdin):
    entry = _one(f"* * * * * {command}\n")

    assert (entry.command, entry.stdin) == (read, stdin)


@pytest.mark.parametrize("name", ["@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@Daily"])
def test_names_of_schedules_are_taken_over(name):
    assert _one(f"{name} run it\n").expression == name


def test_at_boot_is_no_time():
    assert _refusal("@reboot run\n") == "@reboot runs when the machine starts, which is not a time."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("61 * * * * run", "'61' is above 59"),
        ("* * * foo * run", "'foo' is not understood"),
        ("@fortnightly run", "is not known"),
        ("0 0 30 2 * run", "never runs"),
        ("* * * * *", "this one has 5 words"),
        ("@daily", "no command"),
        ("run-parts --report", "this one has 2 words"),
        ("* * * * * run \\", "does not continue lines"),
        ("* * * * * a\0b", "NUL"),
        ("* * * * * \udcff", "not UTF-8"),
    ],
)
def test_what_cannot_be_taken_over_says_why(line, reason):
    assert reason in _refusal(f"{line}\n")


def test_a_random_value_becomes_a_hashed_one():
    entry = _one("~ 1~5 * * 0~ run\n")

    assert entry.expression == "H(0-59) H(1-5) * * H(0-6)"
    assert "chosen once" in entry.notes[0]


def test_the_minus_that_silences_syslog_is_dropped():
    entry = _one("-*/15 * * * * run\n")

    assert entry.expression == "*/15 * * * *"
    assert "syslog" in entry.notes[0]


def test_a_last_line_without_a_line_break_is_imported_with_a_note():
    assert "without a line break" in _one("0 1 * * * run").notes[0]
    assert _one("0 1 * * * run\r\n").notes == ()


def test_a_job_behind_a_variable_is_named_and_spoils_nothing_below():
    refused, below = parse_crontab(
        "CRON_TZ=UTC 0 4 * * * a\n0 5 * * * b\n", system=False, timezone="Asia/Tokyo"
    )

    assert isinstance(refused, Refused)
    assert "CRON_TZ=UTC into a line of its own" in refused.reason
    assert isinstance(below, Entry)
    assert (below.timezone, below.environment) == ("Asia/Tokyo", {})


def test_a_single_run_at_a_time_is_a_policy_of_the_task():
    assert _one("@daily -s run\n").schedule["overlap_policy"] == "skip"
    assert "overlap_policy" not in _one("@daily run\n").schedule


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    (entry, other) = _entries("\ufeff0 1 * * * a\r\n0 2 * * * b\r\n")

    assert (entry.expression, entry.command) == ("0 1 * * *", "a")
    assert "byte order mark" in entry.notes[0]
    assert (other.command, other.notes) == ("b", ())
    assert _entries("\ufeff# a comment\n0 2 * * * b\n")[0].notes == ()


def test_lines_of_an_old_macintosh_are_lines():
    assert [entry.command for entry in _entries("0 1 * * * a\r0 2 * * * b\r")] == ["a", "b"]


def test_bytes_that_are_no_text_spoil_their_line_alone():
    jobs = parse_crontab("# \udce9t\udce9\n0 1 * * * \udce9\n0 2 * * * b\n", system=False)

    assert [type(job) for job in jobs] == [Refused, Entry]


def test_white_space_before_a_line_and_inside_a_command_stays_apart():
    entry = _one(" \t0 1 * * *\tprintf 'a\tb'\n")

    assert entry.command == "printf 'a\tb'"
    assert entry.text == "0 1 * * *\tprintf 'a\tb'"


@pytest.mark.parametrize(
    ("command", "payload"),
    [
        (r"printf 'a\\%b\n'", {"command": r"printf 'a\\", "stdin": r"b\n'"}),
        (r"a\\%", {"command": r"a\\", "stdin": ""}),
        (r"echo a\\", {"command": r"echo a\\"}),
        (r"echo a\\\\", {"command": r"echo a\\\\"}),
    ],
)
def test_only_a_line_whose_own_end_is_escaped_is_cut_off(command, payload):
    entry = _one(f"5 4 * * * {command}\n")

    body = definition_body(entry, url="https://a.example/", path="f", identity="i")
    assert body["payload"].items() >= payload.items()


@pytest.mark.parametrize("end", ["\\", "\\\\\\"])
def test_a_line_whose_end_is_escaped_is_refused_since_cron_continues_none(end):
    (job,) = parse_crontab(f"5 4 * * * run a{end}\n", system=False)

    assert isinstance(job, Refused)
    assert "does not continue lines" in job.reason


@pytest.mark.parametrize("fields", ["0 9 L * *", "0 9 1W * *", "0 9 LW * MON", "0 9 H * *"])
def test_a_field_of_letters_does_not_make_a_line_of_cron_one_of_anacron(fields):
    assert _one(f"{fields} run it\n").schedule["cron_expression"] == fields


def test_an_anacrontab_is_named_line_by_line():
    jobs = parse_crontab(
        "SHELL=/bin/sh\nSTART_HOURS_RANGE=3-22\n1\t5\tcron.daily\trun-parts /etc/cron.daily\n"
        "@monthly 45 cron.monthly run-parts /etc/cron.monthly\n",
        system=True,
    )

    assert [isinstance(job, Refused) and "anacron" in job.reason for job in jobs] == [True, True]


def test_a_long_word_is_read_in_one_pass():
    """With a second repeat in the pattern of anacron this line takes minutes."""
    assert "words" in _refusal(f"1 1 {'a' * 400_000}\n")


def test_a_job_has_at_most_a_hundred_variables():
    names = [f"N{number}" for number in range(101)]
    text = "".join(f"{name}=1\n" for name in names) + "N0=2\n0 1 * * * a\n"

    refused, entry = parse_crontab(text, system=False)

    assert isinstance(refused, Refused)
    assert (refused.line, "At most 100 variables" in refused.reason) == (101, True)
    assert isinstance(entry, Entry)
    assert entry.environment == {**dict.fromkeys(names[:100], "1"), "N0": "2"}


def test_a_line_keeps_its_identity_wherever_it_stands():
    before = _entries("0 1 * * * a\n0 2 * * * b\n")
    after = _entries("# new\n0 2 * * * b\n0 1 * * * a\n")

    first, second = identities(before, "f"), identities(after, "f")

    assert first == second[::-1]
    assert set(first).isdisjoint(identities(before, "other"))


def test_equal_lines_are_different_jobs():
    twice = _entries("0 1 * * * a\n0 1 * * * a\n")

    assert len(set(identities(twice, "f"))) == 2


def test_a_job_becomes_a_definition_that_creation_takes():
    entry = _one('A=1\n0 8 * * * root mail "x"%hello\n', system=True, timezone="Europe/Berlin")

    body = definition_body(
        entry, url="https://example.com/run", path="/etc/cron.d/mail", identity="abc"
    )
    definition = parse_create(body, now=NOW, limits=LIMITS)

    assert definition.name == "mail: mail, line 2"
    assert definition.type == "RECURRING"
    assert definition.payload == {
        "command": 'mail "x"',
        "user": "root",
        "line": 2,
        "source": "/etc/cron.d/mail",
        "stdin": "hello",
        "environment": {"A": "1"},
    }
    assert definition.labels == {"import": "crontab", "import_file": "mail", "import_line": "abc"}


def test_a_name_fits_whatever_the_command_is():
    entry = _one(f"* * * * * {'x' * 500}\n")

    name = definition_body(entry, url="https://e.com", path="f\x1b", identity="i")["name"]

    assert len(name) == NAME_LENGTH
    assert name.startswith("f?: xxx")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/curl https://chat.example.com/s3cret", "f: curl, line 1"),
        ("mysql -ps3cret", "f: mysql, line 1"),
        ("TOKEN=s3cret run", "f: line 1"),
        ('TOKEN="a s3cret b" run', "f: line 1"),
        ("`s3cret`", "f: line 1"),
        ("s3cret=x; run", "f: line 1"),
    ],
)
def test_a_name_has_nothing_of_a_command_but_its_program(command: str, name: str):
    entry = _one(f"* * * * * {command}\n")

    assert definition_body(entry, url="https://e.com", path="f", identity="i")["name"] == name


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/etc/cron.d/sysstat", True),
        ("/etc/crontab", True),
        ("/srv/me/crontab", False),
        ("/var/spool/cron/crontabs/me", False),
        ("stdin", False),
    ],
)
def test_the_place_of_a_file_tells_whether_it_has_a_user_column(path, system):
    assert is_system_path(PurePath(path)) is system
