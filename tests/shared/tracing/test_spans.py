from __future__ import annotations

from itertools import product

from shared.tracing.spans import Part, part_of

OWN = "0195c0c0-0000-8000-8000-000000000001"


def test_each_part_of_each_attempt_has_an_id_of_its_own_in_either_spelling():
    ids = [part_of(OWN, attempt, part) for attempt, part in product((1, 2, 999), Part)]

    assert len(set(ids)) == len(ids)
    assert all(len(one) == 16 and int(one, 16) for one in ids)
    assert part_of(OWN.replace("-", ""), 2, Part.ATTEMPT) in ids
