"""One model per file; a second class only where it belongs to the first."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import sizes


def test_models_files_hold_two_classes_at_most():
    modules = (module for module in tree.production() if "/models/" in module.path)

    found = tree.breaches(modules, sizes.classes_per_file)

    assert not found, tree.report(found)


def test_no_app_keeps_all_models_in_one_file():
    found = [module.path for module in tree.production() if module.path.endswith("/models.py")]

    assert not found, tree.report(found)


def test_the_rule_counts_classes_at_the_top():
    assert sizes.classes_per_file("class A: ...\nclass B: ...\nclass C: ...\n")
    assert not sizes.classes_per_file("class A:\n    class Meta: ...\n\nclass B: ...\n")
