from __future__ import annotations

import zoneinfo

from operations.doctor import Verdict, machine


def test_this_python_and_its_packages_are_the_right_ones():
    assert machine.python_version().verdict is Verdict.OK
    assert machine.packages().verdict is Verdict.OK


def test_an_old_python_is_refused(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 10, 1))

    assert machine.python_version().verdict is Verdict.FAILED


def test_a_package_of_another_version_is_named(monkeypatch):
    monkeypatch.setattr(
        machine, "pinned_versions", lambda: {"django": "1.0", "no-such-package": "2.0"}
    )

    found = machine.packages()

    assert found.verdict is Verdict.WARNING
    assert "instead of 1.0" in found.evidence
    assert "no-such-package missing instead of 2.0" in found.evidence


def test_pins_are_read_without_their_comments_and_foreign_markers():
    pins = machine.pinned_versions()

    assert pins["django"].startswith("5.2")
    assert all(" " not in version and "#" not in version for version in pins.values())


def test_zones_come_from_the_pinned_package_only(monkeypatch):
    assert machine.zone_database().verdict is Verdict.OK

    monkeypatch.setattr(zoneinfo, "TZPATH", ("/usr/share/zoneinfo",))
    assert "/usr/share/zoneinfo" in machine.zone_database().evidence

    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    monkeypatch.setattr(machine, "pinned_versions", lambda: {"tzdata": "1999.1"})
    assert machine.zone_database().verdict is Verdict.FAILED


def test_debug_mode_is_broken_and_every_host_is_odd(settings):
    settings.ALLOWED_HOSTS = ["*"]
    assert machine.debug_mode().verdict is Verdict.WARNING

    settings.DEBUG = True
    assert machine.debug_mode().verdict is Verdict.FAILED

    settings.DEBUG, settings.ALLOWED_HOSTS = False, ["a.example"]
    assert machine.debug_mode().verdict is Verdict.OK
