from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from tasks import zone_changes
from tasks.models import ZoneMove, ZoneRules
from tasks.schedules.calendars import CalendarDays
from tasks.schedules.spec import parse
from tasks.schedules.zones import Zone, all_names, find_zone, release
from tasks.zone_changes import compare, concerned, look
from tests.factories import daily, make_task
from tests.support.api import make_tenant
from tests.support.old_zones import (  # noqa: F401 - a fixture
    OLD,
    few_zones,
    pretend,
    pretend_shifted,
    record_today,
    second,
)
from tests.tasks.schedules.instants import cron, every

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_zones")]

#: Summer time in Berlin, which ends on 2027-10-31 at 01:00 UTC.
NOW = datetime(2027, 10, 1, tzinfo=UTC)
END_OF_SUMMER = datetime(2027, 10, 31, 1, tzinfo=UTC)
NEXT_SUMMER = datetime(2028, 3, 26, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def berlin_never_ends_summer() -> None:
    record_today(NOW)
    pretend(BERLIN, [(second(NOW) - 86_400 * 300, 7200)])


def change_of_berlin() -> zone_changes.ZoneChange:
    berlin_never_ends_summer()
    [change] = look(NOW).changes
    return change


def test_the_first_look_finds_no_change_and_every_zone_to_record(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zone_changes, "all_names", all_names)

    found = look(NOW)

    assert (found.installed, found.recorded, found.changes) == (release(), "", ())
    assert found.unchanged == all_names()


def test_a_recorded_release_is_not_read_again(django_assert_num_queries):
    record_today(NOW)
    berlin = ZoneRules.objects.get(name=BERLIN)

    with django_assert_num_queries(1):
        found = look(NOW)

    assert (found.changes, found.unchanged, berlin.release) == ((), (), release())
    assert berlin.transitions[1][1] in (3600, 7200)


def test_a_zone_whose_clock_will_go_otherwise_is_a_change():
    change = change_of_berlin()

    assert (change.name, change.from_release, change.to_release) == (BERLIN, OLD, release())
    # The two winters of which the next year has parts, widened by two days.
    assert change.stretches == [
        (END_OF_SUMMER - timedelta(days=2), NEXT_SUMMER + timedelta(days=2)),
    ]
    noon = second(datetime(2028, 1, 1, 12, tzinfo=UTC))
    assert change.old.segment_at(noon).offset == 7200
    assert change.new.segment_at(noon).offset == 3600


def test_rules_that_differ_in_the_past_only_change_nothing():
    record_today(NOW)
    started = second(NOW) - 86_400 * 90
    changes = Zone(BERLIN).changes_between(started, second(NOW) + 86_400 * 3653)
    pretend(BERLIN, [(started - 86_400 * 300, 0), *changes])

    found = look(NOW)

    assert found.changes == ()
    assert BERLIN in found.unchanged


def test_a_process_that_is_not_upgraded_yet_judges_nothing_unless_asked():
    berlin_never_ends_summer()
    ZoneRules.objects.filter(name=BERLIN).update(release="2999.10")

    assert look(NOW).behind
    assert look(NOW).changes == ()
    asked = look(NOW, asked=True)
    assert (asked.behind, [change.name for change in asked.changes]) == (False, [BERLIN])


def test_a_release_is_newer_by_its_numbers():
    record_today(NOW)
    ZoneRules.objects.filter(name="UTC").update(release="2025.10")
    ZoneRules.objects.filter(name="Asia/Tokyo").update(release="2025.9")
    ZoneRules.objects.exclude(name__in=("UTC", "Asia/Tokyo")).delete()

    assert zone_changes.recorded_release() == "2025.10"


def test_what_is_followed_is_no_change_any_more():
    berlin_never_ends_summer()

    zone_changes.follow([BERLIN], NOW)

    assert look(NOW).changes == ()
    assert ZoneRules.objects.get(name=BERLIN).release == release()


def test_only_tasks_that_go_by_the_local_time_of_the_zone_are_concerned():
    tenant = make_tenant("Alpha")
    hit = make_task(tenant, daily())
    with_step = daily(schedule={"every": "PT5M", "timezone": BERLIN})
    elsewhere = daily(schedule={"cron_expression": "0 8 * * *", "timezone": "Asia/Tokyo"})
    for body in (with_step, elsewhere):
        make_task(tenant, body)
    gone = make_task(tenant, daily())
    gone.deleted_at = NOW
    gone.save()

    assert concerned([BERLIN]) == {BERLIN: [hit.id]}
    assert concerned([]) == {}


def test_the_instants_of_the_coming_year_are_compared():
    change = change_of_berlin()

    moved = compare(cron("0 8 * * *", BERLIN), change, NOW, None)

    assert moved.before == datetime(2027, 10, 31, 6, tzinfo=UTC)
    assert moved.after == datetime(2027, 10, 31, 7, tzinfo=UTC)
    # From the end of this summer to the beginning of the next.
    assert (moved.count, moved.complete) == (147, True)


@pytest.mark.parametrize(
    ("spec", "remaining", "count"),
    [
        (cron("0 8 * * *", BERLIN), 0, 0),
        (cron("0 8 * * *", BERLIN), 30, 0),
        (cron("0 8 * * *", BERLIN), 32, 2),
        (cron("0 8 * 6-9 *", BERLIN), None, 0),
        (cron("0 8 * * *", BERLIN, end_at="2027-11-02T00:00:00Z"), None, 2),
        (cron("*/30 * * * *", BERLIN), None, 0),
        (every("PT1H"), None, 0),
    ],
)
def test_what_does_not_move_is_not_counted(spec, remaining, count):
    moved = compare(spec, change_of_berlin(), NOW, remaining)

    assert (moved.count, moved.complete) == (count, True)


@pytest.mark.parametrize("policy", ["skip", "next_business_day"])
def test_calendars_follow_the_clock_of_the_rules_too(policy):
    """Half past eleven at night by the new clock is the next day by the old one."""
    off = CalendarDays("Off", dates=frozenset({date(2027, 12, 25)}))
    body = {"cron_expression": "30 * * * *", "timezone": BERLIN, "calendar_policy": policy}
    spec = parse("RECURRING", body, calendars=[off])

    moved = compare(spec, change_of_berlin(), NOW, None)

    assert moved.before == datetime(2027, 12, 25, 22, 30, tzinfo=UTC)
    assert moved.after == datetime(2027, 12, 24, 22, 30, tzinfo=UTC)
    assert (moved.count, moved.complete) == (1, True)


def test_an_endless_comparison_is_cut_off_and_says_so():
    moved = compare(cron("* * 8-17 * * *", BERLIN), change_of_berlin(), NOW, None)

    assert not moved.complete
    assert moved.before is None or moved.count > 0


def test_a_move_is_written_once_and_told_as_the_api_does():
    task = make_task(make_tenant("Alpha"), daily())
    change = change_of_berlin()
    moved = compare(cron("0 8 * * *", BERLIN), change, NOW, None)

    assert zone_changes.record_move(task, change, moved)
    assert not zone_changes.record_move(task, change, moved)

    shown = zone_changes.present_zone_move(zone_changes.moves_of_tenant(task.tenant_id).get())
    assert {key: shown[key] for key in ("task_name", "timezone", "before", "after")} == {
        "task_name": task.name,
        "timezone": BERLIN,
        "before": "2027-10-31T06:00:00.000Z",
        "after": "2027-10-31T07:00:00.000Z",
    }
    assert ZoneMove.objects.get().moved_count == 147


def test_zones_in_use_are_counted():
    tenant = make_tenant("Alpha")
    for zone in (BERLIN, BERLIN, "Asia/Tokyo"):
        make_task(tenant, daily(schedule={"cron_expression": "0 8 * * *", "timezone": zone}))

    assert zone_changes.zones_in_use() == {"Asia/Tokyo": 1, BERLIN: 2}


def test_a_zone_of_stored_changes_answers_as_the_zone_did():
    berlin = find_zone(BERLIN)
    low, high = second(NOW) - 86_400 * 366, second(NOW) + 86_400 * 3653
    again = Zone.with_changes(BERLIN, berlin.changes_between(low, high))

    for days in range(0, 3652, 9):
        at = second(NOW) + days * 86_400
        assert again.segment_at(at).offset == berlin.segment_at(at).offset


def test_a_shift_of_everything_ahead_is_a_change():
    record_today(NOW)
    pretend_shifted("Asia/Tokyo", NOW, 1)

    assert [change.name for change in look(NOW).changes] == ["Asia/Tokyo"]
