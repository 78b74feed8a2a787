"""Vendored files are what their authors published: each is listed with its checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.architecture import tree

_FOLDERS = ("static/vendor", "tests/data/vendor")
_LIST = "checksums.txt"


@pytest.mark.parametrize("folder", _FOLDERS)
def test_vendored_files_have_the_checksums_of_their_list(folder: str):
    listed = _listed(tree.REPOSITORY / folder)

    found = {path: _sha256(tree.REPOSITORY / folder / path) for path in listed}

    assert found == listed


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_vendored_file_is_listed(folder: str):
    root = tree.REPOSITORY / folder

    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and path != root / _LIST
    }

    assert found == set(_listed(root))


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_vendored_package_names_its_version_and_has_its_licence(folder: str):
    packages = [path for path in (tree.REPOSITORY / folder).iterdir() if path.is_dir()]

    assert packages
    for package in packages:
        _, _, version = package.name.rpartition("-")
        assert version.count(".") == 2, package.name
        assert (package / "LICENSE").is_file(), package.name


def test_what_only_tests_use_is_not_served():
    served = {path.name for path in (tree.REPOSITORY / "static" / "vendor").rglob("*")}

    assert "axe.min.js" not in served


def _listed(root: Path) -> dict[str, str]:
    lines = (root / _LIST).read_text(encoding="utf-8").splitlines()
    return {path: checksum for checksum, path in (line.split("  ", 1) for line in lines)}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
