from __future__ import annotations

import pytest

from tasks.importers.crontab_line import Unread, job_behind, split_input, split_line


def _command(rest: str, *, system: bool = False) -> str:
    return split_line(f"0 1 * * * {rest}", system=system).command


@pytest.mark.parametrize(
    "command", ["printf 'a\tb'", "grep\t-c x", "a  b", "a b \t", "awk '{print\t$1}' \u00a0x"]
)
@pytest.mark.parametrize("blank", [" ", "\t", " \t "])
def test_white_space_inside_a_command_is_the_commands(command, blank):
    for system, user in ((False, ""), (True, f"root{blank}")):
        line = blank.join(["0", "1", "*", "*", "*", user + command])

        assert split_line(line, system=system).command == command
    assert split_line(f"@daily{blank}{command}", system=False).command == command


@pytest.mark.parametrize(
    ("rest", "command", "stdin"),
    [
        ("date +\\%d", "date +%d", None),
        (r"printf 'a\\%b\n'", r"printf 'a\\", r"b\n'"),
        (r"a\\\%b", r"a\\%b", None),
        (r"a\\\\%b", r"a\\\\", "b"),
        (r"a\b\%", r"a\b%", None),
        (r"a%b\%c%d\\e", "a", "b%c\nd\\\\e"),
        ("a%", "a", ""),
        ("a\\", "a\\", None),
    ],
)
def test_a_percent_sign_ends_the_command_as_in_cronie(rest, command, stdin):
    assert split_input(rest) == (command, stdin)


@pytest.mark.parametrize(
    ("item", "read"),
    [
        ("0/5", "0"),
        ("5/10,7", "5,7"),
        ("*/5", None),
        ("0-59/5", None),
        ("1,10-20/2", None),
        ("3/2,*/9", "3,*/9"),
    ],
)
def test_a_step_without_a_range_is_the_value_alone_with_a_note(item, read):
    found = split_line(f"{item} * * * * run", system=False)

    assert found.expression == f"{read or item} * * * *"
    assert len(found.notes) == (1 if read else 0)
    assert not read or "for a step" in found.notes[0]


def test_a_step_without_a_range_is_noticed_after_a_name():
    assert split_line("0 0 * JAN/3 MON/2 run", system=False).expression == "0 0 * JAN MON"


@pytest.mark.parametrize(
    ("rest", "command", "single"),
    [
        ("-n -q run -n", "run -n", False),
        ("-nq\trun", "run", False),
        ("-s run", "run", True),
        ("-nqs run", "run", True),
        ("-x run", "-x run", False),
        ("-n", "-n", False),
    ],
)
def test_flags_of_the_bsds_are_not_part_of_the_command(rest, command, single):
    for system, user in ((False, ""), (True, "root ")):
        found = split_line(f"@daily {user}{rest}", system=system)

        assert (found.command, found.single) == (command, single)
        assert len(found.notes) == (command != rest)


@pytest.mark.parametrize(
    "user",
    [
        "root", "www-data", "_apt", "a@b", "bob@example.com", "DOMAIN\\bob", "DOM+bob", "svc$",
        "root:wheel", "root:wheel/daemon", "jürgen", "_r-x.y", "2build",
    ],
)  # fmt: skip
def test_a_user_is_named_as_systems_and_their_directories_name_users(user):
    found = split_line(f"0 1 * * *\t{user}\trun it", system=True)

    assert (found.user, found.command) == (user, "run it")


@pytest.mark.parametrize(
    "word", ["/bin/true", "[", "-x", "5", "a=b", "'x'", "@b", "\\bob", "test;"]
)
def test_what_is_no_user_is_named(word):
    with pytest.raises(Unread, match="user column is missing"):
        split_line(f"0 1 * * * {word} run", system=True)


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("@daily", "@daily"),
        ("@every_minute", "* * * * *"),
        ("@EVERY_SECOND", "* * * * * *"),
        ("@quarterly", "0 0 1 1,4,7,10 *"),
        ("-@daily", "@daily"),
    ],
)
def test_names_of_schedules_are_those_of_any_cron(name, expression):
    assert split_line(f"{name} run", system=False).expression == expression


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("@reboot run", "not a time"),
        ("@every 5m run", "tasks create --every"),
        ("@300 run", "tasks create --every"),
        ("1 5 cron.daily nice run-parts /etc/cron.daily", "anacron"),
        ("@monthly 45 cron.monthly nice run-parts x", "anacron"),
        ("7\t25\tcron.weekly\trun-parts x", "anacron"),
        ("run it", "5 time fields"),
        ("0 1 * * *", "this one has 5 words"),
        ("0 1 * * * %x", "no command"),
    ],
)
def test_what_has_no_time_is_named(line, told):
    with pytest.raises(Unread, match=told):
        split_line(line, system=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRON_TZ", "UTC 0 4 * * * cmd"),
        ("CRON_TZ", "UTC\t0 4 * * * cmd"),
        ("TZ", "Europe/Berlin @daily cmd"),
        ("PATH", "/bin 0 4 * * 1-5 a b"),
    ],
)
def test_a_job_in_one_line_with_a_variable_is_named(name, value):
    with pytest.raises(Unread, match=f"as the variable {name} alone"):
        job_behind(name, value)


@pytest.mark.parametrize(
    "value",
    ["", "UTC", "/bin:/usr/bin", "a b c d e f g", "root@a, b@c", "-a 61 2 3 4 5 6", '"x y"'],
)
def test_a_variable_of_several_words_is_no_job(value):
    job_behind("X", value)
