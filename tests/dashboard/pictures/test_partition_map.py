from __future__ import annotations

import pytest

from dashboard.pictures.partition_map import PartitionCell, partition_map
from tests.dashboard.pictures.reading import (
    assert_keeps_the_rules,
    having,
    parsed,
    rows,
    texts,
)


def _cells(count: int = 256, owners: int = 3) -> list[PartitionCell]:
    return [PartitionCell(n, f"scheduler-{n % owners}", 41) for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, 16, 17, 256])
@pytest.mark.parametrize("owners", [1, 3, 12, 70])
def test_any_map_keeps_the_rules(count: int, owners: int):
    markup = partition_map(_cells(count, owners))

    assert_keeps_the_rules(markup)
    assert len(having(markup, "cell")) == count


def test_a_cell_says_partition_owner_and_epoch():
    markup = partition_map([PartitionCell(117, "scheduler-2", 41)])

    (cell,) = having(markup, "cell")
    assert cell.get("aria-label") == "partition 117, scheduler-2, epoch 41"
    assert cell[0].text == cell.get("aria-label")


def test_the_map_is_sixteen_wide_and_one_stop_for_the_keyboard():
    cells = having(partition_map(_cells()), "cell")

    assert len({one.get("x") for one in cells}) == len({one.get("y") for one in cells}) == 16
    assert [one.get("tabindex") for one in cells].count("0") == 1


def test_cells_are_in_the_order_of_their_numbers():
    shuffled = [PartitionCell(n, "a", 1) for n in (3, 1, 2)]

    assert [one.split(",")[0] for one in texts(partition_map(shuffled), "cell")] == [
        "partition 1",
        "partition 2",
        "partition 3",
    ]


def test_owners_differ_in_pattern_as_well_as_in_colour():
    patterns = having(partition_map(_cells(owners=8)), "pattern")[1:]

    assert len({one.get("class") for one in patterns}) == 8
    assert len({one[1].get("d") for one in patterns}) == 8


def test_a_repeated_colour_comes_with_another_pattern():
    patterns = having(partition_map(_cells(owners=20)), "pattern")

    looks = {(one.get("class"), one[1].get("d")) for one in patterns}
    assert len(looks) == len(patterns) == 21


def test_what_nobody_holds_is_hatched_and_named_first():
    markup = partition_map([PartitionCell(0, "a", 3), PartitionCell(1, None, 7)])

    fills = {one.get("aria-label"): one.get("fill") for one in having(markup, "cell")}
    assert fills["partition 1, no owner, epoch 7"] == "url(#pm-unowned)"
    assert rows(markup) == [["unowned", "1", "1", "7"], ["a", "1", "0", "3"]]
    assert texts(markup, "picture-summary") == [
        "2 partitions held by 1 scheduler, 1 without an owner."
    ]


def test_the_table_tells_spans_of_numbers_and_epochs():
    cells = [PartitionCell(n, "a", 40 + n % 2) for n in (0, 1, 2, 9, 11, 12)]

    assert rows(partition_map(cells)) == [["a", "6", "0–2, 9, 11–12", "40–41"]]


def test_the_legend_counts_by_owner():
    assert texts(partition_map(_cells()), "legend-count") == ["86", "85", "85"]


def test_a_hostile_owner_stays_text():
    markup = partition_map([PartitionCell(0, '"><script>x</script>', 1)])

    assert "<script" not in markup
    assert rows(markup)[0][0] == '"><script>x</script>'


def test_an_empty_map_says_so():
    (drawing,) = having(partition_map([]), "partition-map")

    assert drawing.get("aria-label") == "No partition is known."
    assert not list(parsed(partition_map([])).iter("table"))
