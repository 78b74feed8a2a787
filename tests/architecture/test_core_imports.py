"""Workers know no database; shared knows no edge; only Django reads the settings module."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import imports

_EDGES = ("rest_framework", "channels", "celery", "kombu", "drf_spectacular")
_DATABASE = ("django.db", "psycopg", "psycopg_pool")
# What runs in a worker, which has no connection to a database (C11).
_WORKER = ("delivery", "worker", "wire")
_MAY_REACH_IT = {"worker/handlers/child.py": "runs the code of deployments, which may use models"}


def test_workers_reach_no_database():
    sources = {_dotted(module.path): module.source for module in tree.production()}

    found = [
        f"{module.path}: {' -> '.join(chain)}"
        for module in tree.modules(*_WORKER)
        if module.path not in _MAY_REACH_IT
        and (chain := imports.chain_to(_dotted(module.path), sources, _DATABASE))
    ]

    assert not found, tree.report(found)


def test_shared_knows_no_edge():
    found = tree.breaches(
        tree.modules("shared"), lambda source: imports.forbidden_imports(source, _EDGES)
    )

    assert not found, tree.report(found)


def test_product_code_asks_conf_and_not_the_settings_module():
    found = tree.breaches(
        tree.production(),
        lambda source: imports.forbidden_imports(source, ("scheduler_site.settings",)),
        except_for={"scheduler_site/settings_test.py": "the few differences for tests"},
    )

    assert not found, tree.report(found)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_the_rule_follows_imports_to_the_database():
    sources = {
        "run": "from shared import clock",
        "shared.clock": "def now():\n    from django.db import connection",
        "inside": "from package import part",
        "package": "import psycopg",
        "package.part": "",
        "plain": "from django.conf import settings",
    }

    assert imports.chain_to("run", sources, _DATABASE)[:2] == ["run", "shared.clock"]
    # The package around a module runs first.
    assert imports.chain_to("inside", sources, _DATABASE)[:2] == ["inside", "package"]
    assert not imports.chain_to("plain", sources, _DATABASE)


def test_the_rule_finds_every_form_of_an_import():
    for code in (
        "import celery",
        "import celery.schedules as s",
        "from celery import shared_task",
        "def f():\n    from celery.app import x",
        "try:\n    import celery\nexcept ImportError: pass",
    ):
        assert imports.forbidden_imports(code, ("celery",)), code


def test_the_rule_leaves_other_names_and_type_checking_alone():
    for code in (
        "import celery_shim",
        "from executions import celery_tasks",
        "if TYPE_CHECKING:\n    import celery",
        "from __future__ import annotations\nif typing.TYPE_CHECKING:\n    import celery",
    ):
        assert not imports.forbidden_imports(code, ("celery",)), code
