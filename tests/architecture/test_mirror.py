"""executions/dispatch/stage.py is tested in tests/executions/dispatch/test_stage.py."""

from __future__ import annotations

import fnmatch

from tests.architecture import tree
from tests.architecture.rules import mirror

# Pattern -> why these modules have no mirror of their own.
ALLOWED = {
    "manage.py": "Django's entry point",
    "*/__init__.py": "holds names, not behaviour",
    "*/apps.py": "declares the app",
    "*/urls.py": "declares routes; every endpoint test goes through them",
    "*/migrations/*": "run by every test that has a database",
    "*/admin.py": "declares lists; its actions are the services' and tested there",
    "scheduler_site/settings.py": "read by every test",
    "scheduler_site/settings_test.py": "read by every test",
}
# One test file per endpoint, not per module: style, Tests.
_BY_ENDPOINT = (
    "api/*/views.py",
    "api/*/*_views.py",
    "api/alerts/serializers.py",
    "api/executions/serializers.py",
    "api/tasks/definition_serializers.py",
    "api/tenants/serializers.py",
)


def test_every_module_with_behaviour_has_its_mirror():
    tests = {module.path for module in tree.modules("tests")}

    found = [
        breach
        for module in tree.production()
        if not _matches(module.path, (*ALLOWED, *_BY_ENDPOINT))
        for breach in mirror.missing_mirror(module.path, module.source, tests)
    ]

    assert not found, tree.report(found)


def test_every_api_folder_has_tests_by_endpoint():
    tests = {module.path for module in tree.modules("tests")}

    found = [
        breach
        for module in tree.production()
        if _matches(module.path, _BY_ENDPOINT)
        for breach in mirror.missing_endpoint_tests(module.path, tests)
    ]

    assert not found, tree.report(found)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def test_the_rule_finds_a_missing_mirror():
    module = "executions/dispatch/stage.py"
    code = "def run_once(): ..."

    assert mirror.missing_mirror(module, code, set())
    assert mirror.missing_mirror(module, code, {"tests/executions/test_dispatch.py"})
    assert not mirror.missing_mirror(module, code, {"tests/executions/dispatch/test_stage.py"})


def test_the_rule_leaves_modules_without_behaviour_alone():
    model = "class Task:\n    name = 1\n    def __str__(self): return ''"

    assert not mirror.missing_mirror("tasks/choices.py", "A = 1", set())
    assert not mirror.missing_mirror("tasks/models/task.py", model, set())


def test_the_rule_knows_where_commands_are_tested():
    command = "tasks/management/commands/tasks.py"
    process = "launcher/management/commands/run_worker.py"

    assert "tests/tasks/commands/test_tasks.py" in mirror.accepted_mirrors(command)
    assert "tests/processes/test_worker_lifecycle.py" in mirror.accepted_mirrors(process)
    assert len(mirror.accepted_mirrors("tasks/editing.py")) == 1


def test_the_rule_finds_an_api_without_endpoint_tests():
    views = "api/schedules/views.py"

    assert mirror.missing_endpoint_tests(views, {"tests/tasks/test_editing.py"})
    assert not mirror.missing_endpoint_tests(
        views, {"tests/api/schedules/test_preview_schedule.py"}
    )
