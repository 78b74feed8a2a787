from __future__ import annotations

import pytest

from shared.json_path import MISSING, parse_path, read

DOCUMENT = {"a": {"b": [{"c": None}, 2]}, "un it": 1, "it's": 3, "ä": 4, 'q"': 5}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("$", DOCUMENT), ("$.a.b[1]", 2), ("$['a']['b'][-1]", 2), ("$.a.b[0].c", None)),
        *(("$['un it']", 1), ("$['it\\'s']", 3), ('$["it\'s"]', 3), ("$.ä", 4), ('$["q\\""]', 5)),
        *(("$.b", MISSING), ("$.a.b[2]", MISSING), ("$.a.b[-3]", MISSING), ("$.a[0]", MISSING)),
        *(("$.a.b.c", MISSING), ("$['un it'].x", MISSING), ("$.a.b[0].c.d", MISSING)),
    ],
)
def test_a_path_leads_to_one_place_or_nowhere(path: str, value: object):
    found = read(DOCUMENT, parse_path(path))

    assert found is value if value is MISSING else found == value


@pytest.mark.parametrize(
    "path",
    [
        *("", "a", ".a", "$a", "$.", "$..a", "$.*", "$[*]", "$[01]", "$[-0]", "$[0:1]", "$[?a]"),
        *("$[a]", "$['a]", "$['a'", "$.a b", "$.1", "$ .a", "$.a ", "$['\n']", "$[12345678901]"),
    ],
)
def test_what_names_no_single_place_is_refused(path: str):
    with pytest.raises(ValueError, match=r"path begins|no step"):
        parse_path(path)
