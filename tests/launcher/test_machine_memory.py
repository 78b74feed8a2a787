"""How much memory there is: the machine's, or what its container may have."""

from __future__ import annotations

import os

import pytest

from launcher.machine_memory import memory_bytes

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
@pytest.mark.parametrize(
    ("said", "memory"),
    [("67108864\n", 67108864), ("max\n", PHYSICAL), ("9223372036854771712\n", PHYSICAL)],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, name, said, memory):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(said)

    assert memory_bytes(tmp_path) == memory


def test_without_control_groups_it_is_the_machines(tmp_path):
    assert memory_bytes(tmp_path) == PHYSICAL
