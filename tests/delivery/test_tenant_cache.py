from __future__ import annotations

from delivery.tenant_cache import TenantCache


def filled(limit: int, *keys: str) -> TenantCache[str, str]:
    """Return a cache with these keys, the first letter of each being its tenant."""
    made: TenantCache[str, str] = TenantCache(limit)
    for key in keys:
        made.keep(key[0], key, key.upper())
    return made


def test_what_is_kept_is_found_by_its_tenant_alone():
    cache = filled(3, "a1")

    assert (cache.get("a", "a1"), cache.get("b", "a1"), cache.get("a", "a2")) == ("A1", None, None)


def test_the_tenant_with_most_loses_the_one_used_longest_ago():
    cache = filled(4, "b1", "a1", "a2", "a3")
    cache.get("a", "a1")

    cache.keep("c", "c1", "C1")

    assert [cache.get(key[0], key) for key in ("b1", "a1", "a2", "a3", "c1")] == [
        *("B1", "A1", None, "A3", "C1")
    ]
    assert len(cache) == 4


def test_a_tenant_pushes_out_its_own_only():
    cache = filled(4, "b1", *(f"a{number}" for number in range(1000)))

    assert (cache.get("b", "b1"), cache.get("a", "a999"), len(cache)) == ("B1", "A999", 4)


def test_a_value_replaces_the_one_before():
    cache = filled(2, "a1")
    cache.keep("a", "a1", "other")

    assert (cache.get("a", "a1"), len(cache)) == ("other", 1)


def test_what_is_forgotten_leaves_nothing():
    cache = filled(2, "a1")
    cache.forget("a", "a1")
    cache.forget("a", "a1")

    assert (cache.get("a", "a1"), len(cache), cache._kept) == (None, 0, {})
