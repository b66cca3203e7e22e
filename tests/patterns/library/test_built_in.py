"""The list of built-in patterns: complete, parents first, and told in the documentation."""

import inspect
import pathlib

from perwiz.patterns.library import BUILT_IN, collectives, devices, point_to_point, rma, shmem, threads
from perwiz.patterns.pattern import Pattern

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "patterns.md"


def test_built_in__all_classes_of_the_library_that_have_a_name():
    families = (point_to_point, collectives, rma, shmem, threads, devices)
    classes = [found for family in families for found in vars(family).values() if inspect.isclass(found)]
    assert {found for found in classes if issubclass(found, Pattern) and hasattr(found, "name")} == set(BUILT_IN)


def test_built_in__behind_what_they_are_special_cases_of():
    names = [pattern.name for pattern in BUILT_IN]
    assert all(names.index(pattern.of) < row for row, pattern in enumerate(BUILT_IN) if pattern.of in names)


def test_built_in__told_in_the_documentation():
    text = DOCS.read_text(encoding="utf-8")
    assert [pattern.name for pattern in BUILT_IN if f"`{pattern.name}`" not in text] == []
