from __future__ import annotations

import json
from typing import Any

import pytest

from operations import bill_of_materials as bill
from operations.bill_of_materials import LOCK_FILES, Locked, bill_of_materials, read_lock
from tests.architecture import tree
from tests.architecture.rules import requirements

LOCK = (
    "# Made by `make lock`.\n"
    "Django[argon2]==5.2.19 \\\n"
    f"    --hash=sha256:{'a' * 64} \\\n"
    f"    --hash=sha256:{'b' * 64}\n"
    "async-timeout==5.0.1 ; python_full_version < '3.11.3' \\\n"
    f"    --hash=sha256:{'c' * 64}\n"
)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    bill.main()
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_lock_file_is_read_with_its_markers_and_hashes():
    assert list(read_lock(LOCK)) == [
        Locked("django", "5.2.19", "", ("a" * 64, "b" * 64)),
        Locked("async-timeout", "5.0.1", "python_full_version < '3.11.3'", ("c" * 64,)),
    ]


@pytest.mark.parametrize("line", ["django", "django>=5", "-e .", "git+https://example.com/x"])
def test_a_line_that_is_no_locked_package_is_refused(line: str):
    with pytest.raises(ValueError, match="no locked package"):
        list(read_lock(line))


def test_the_document_lists_every_pin_of_the_product(capsys: pytest.CaptureFixture[str]):
    pins: dict[str, str] = {}
    for name in LOCK_FILES:
        text = (tree.REPOSITORY / name.replace(".lock", ".txt")).read_text(encoding="utf-8")
        pins |= requirements.pins(text)

    document = printed(capsys)

    assert {one["name"]: one["version"] for one in document["components"]} == pins
    assert {one["purl"] for one in document["components"]} == {
        f"pkg:pypi/{name}@{version}" for name, version in pins.items()
    }
    assert all(one["properties"] for one in document["components"])
    assert document["metadata"]["component"]["version"] != "0"


def test_the_document_has_the_fields_of_its_format(capsys: pytest.CaptureFixture[str]):
    document = printed(capsys)

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    refs = [one["bom-ref"] for one in document["components"]]
    assert len(set(refs)) == len(refs)
    assert document["dependencies"][0]["dependsOn"] == refs


def test_the_same_packages_give_the_same_document():
    packages = list(read_lock(LOCK))

    assert bill_of_materials(packages, "1") == bill_of_materials(reversed(packages), "1")
