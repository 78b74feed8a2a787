from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.schedules.cron_parse import ALIASES, MAX_LENGTH, parse_cron
from tasks.schedules.cron_terms import CronProblem


def test_five_fields_run_at_second_zero():
    fields = parse_cron("5 8 * * *")

    assert (fields.seconds, fields.minutes, fields.hours) == ((0,), (5,), (8,))
    assert not fields.has_seconds


def test_six_fields_begin_with_the_second():
    fields = parse_cron("30 5 8 * * *")

    assert (fields.seconds, fields.minutes, fields.hours) == ((30,), (5,), (8,))
    assert fields.has_seconds


@pytest.mark.parametrize(("alias", "long"), ALIASES.items())
def test_aliases_stand_for_their_long_form(alias, long):
    assert parse_cron(f" {alias.upper()} ").texts == parse_cron(long).texts


def test_lists_join_plain_and_special_items():
    fields = parse_cron("0 0 1,15W,L,LW,3-5 * 1,FRI#2,2L")

    assert fields.days == {1, 3, 4, 5}
    assert fields.nearest_to == {15}
    assert fields.days_before_last == {0}
    assert fields.last_workday
    assert fields.weekdays == {1}
    assert fields.nth_weekdays == {(5, 2), (2, 0)}


@pytest.mark.parametrize(
    ("expression", "both"),
    [
        ("0 0 1 * 1", False),
        ("0 0 * * 1", True),
        ("0 0 1 * *", True),
        ("0 0 */2 * 1", True),
        ("0 0 1 * */2", True),
        ("0 0 ? * 1", True),
        ("0 0 1,* * 1", False),
        ("0 0 1-31 * 1", False),
    ],
)
def test_both_days_bind_when_a_day_field_begins_with_a_star(expression, both):
    assert parse_cron(expression).both_days is both


@pytest.mark.parametrize(
    ("expression", "fixed"),
    [
        ("0 2 * * *", True),
        ("0,30 2-4 * * *", True),
        ("0-59 0-23 * * *", True),
        ("H H * * *", True),
        ("* 2 * * *", False),
        ("0 * * * *", False),
        ("*/5 2 * * *", False),
        ("0 1-5/2 * * *", False),
        ("H/20 2 * * *", False),
        ("15 0 2 * * *", True),
        ("* 0 2 * * *", False),
        ("@hourly", False),
        ("@daily", True),
    ],
)
def test_only_values_lists_and_ranges_make_a_fixed_time(expression, fixed):
    assert parse_cron(expression, "seed").fixed_time is fixed


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("0 0 1 * * * 2027", "has 7 fields"),
        ("0 0 1 * * * 2027", "There is no field for the year"),
        ("0 0 1 * * * 2027 x", "or six (second first)."),
        ("CRON_TZ=Asia/Tokyo 0 8 * * *", "Give it as 'timezone'"),
        (" TZ=UTC 0 8 * * *", "a time zone does not belong in the expression"),
        ("0 0,,1 * * *", "Hour field, position 5: an item of the list is empty"),
        ("0 0, * * *", "Hour field, position 5: an item of the list is empty"),
        ("0  1,61 25 * *", "Hour field, position 6: '61' is above 23"),
        ("61 0 * * * *", "Second field, position 1: '61' is above 59"),
        ("@reboot", "'@reboot' is not known. Use one of @yearly"),
        ("@every 5m", "use 'every' instead"),
        ("0 0\n* * *", "Position 4: this character cannot stand"),
        ("0 0 * * *\0", "Position 10: this character cannot stand"),
        ("\uff10 0 * * *", "Position 1: this character cannot stand"),
        ("0\u00a00 * * *", "Position 2: this character cannot stand"),
        ("\ud800 0 * * *", "Position 1: this character cannot stand"),
        ("1" * (MAX_LENGTH + 1), f"longer than {MAX_LENGTH} characters"),
        (5, "must be a string"),
        (None, "must be a string"),
        (["0 0 * * *"], "must be a string"),
    ],
)
def test_a_wrong_expression_is_refused_with_the_reason(expression, words):
    with pytest.raises(CronProblem) as caught:
        parse_cron(expression)

    assert words in str(caught.value)
    assert caught.value.code == "cron_invalid"


def test_only_hashed_expressions_depend_on_the_seed():
    assert parse_cron("0 8 * MAR THU", "a") is parse_cron("0 8 * MAR THU", "b")
    assert parse_cron("H 8 * * *", "a") is not parse_cron("H 8 * * *", "b")


@given(st.text(alphabet="0123456789*/-,LW#H()@? ABCJFMONSUT\t\0é", max_size=60))
def test_any_text_is_either_read_or_refused(text):
    try:
        fields = parse_cron(text)
    except CronProblem:
        return
    assert fields.hours


@pytest.mark.parametrize("around", ["\n", " ", "\t\r\n", "\u00a0", "\u2003\n"])
def test_white_space_around_an_expression_is_left_out(around):
    assert parse_cron(f"{around}5 8 * * *{around}").texts == parse_cron("5 8 * * *").texts


def test_positions_count_from_what_was_written():
    with pytest.raises(CronProblem, match="Hour field, position 6: '25' is above 23"):
        parse_cron("\n  0 25 * * *")
    with pytest.raises(CronProblem, match="Position 2: this character"):
        parse_cron("0\u00a08 * * *")


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("a b c d e", "Minute field, position 1: 'a' is not understood"),
        ("0 0 * foo *", "Month field, position 7: 'foo' is not understood"),
        ("0 0 * * Mo", "Day-of-week field, position 9: 'Mo' is not understood"),
        ("0 0 * jan-Xyz *", "'Xyz' is not understood"),
        ("0 0 * * fri#x", "'fri#x' is not understood"),
        ("x-5 * * * *", "'x' is not understood"),
        ("*/x * * * *", "'*/x' is not understood"),
    ],
)
def test_a_wrong_word_is_named_as_it_was_written(expression, told):
    with pytest.raises(CronProblem) as refused:
        parse_cron(expression)

    assert told in str(refused.value)


@pytest.mark.parametrize("field", ["?,*", "*,?", "?,1", "1,?", "?,?"])
def test_a_question_mark_stands_alone(field):
    for expression in (f"0 0 {field} * *", f"0 0 * * {field}"):
        with pytest.raises(CronProblem, match="'\\?' stands alone"):
            parse_cron(expression)
    assert parse_cron("0 0 ? * ?").days == parse_cron("0 0 * * *").days
