"""Patterns of the user's: classes in a Python file, or those that an installed package offers under `perwiz.patterns`."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import traceback
from collections.abc import Iterable, Sequence
from types import ModuleType

import numpy as np

from perwiz.errors import UsageError
from perwiz.patterns.metrics import time_metrics
from perwiz.patterns.pattern import Instances, Pattern
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

GROUP = "perwiz.patterns"
"""Entry points of this group name a module with patterns."""


def collect(files: Iterable[str], built_in: Sequence[type[Pattern]]) -> list[type[Pattern]]:
    """Return the patterns of some files and of installed packages, those behind that are special cases of another.

    Raises UsageError, naming file and line, for a file that cannot be run or holds no pattern, for a name that is taken, and for a
    pattern that is a special case of nothing known.
    """
    offered = [(pattern, path) for path in files for pattern in _patterns(_run(path), path)]
    for point in importlib.metadata.entry_points(group=GROUP):
        offered += [(pattern, point.value) for pattern in _patterns(_loaded(point), point.value)]
    taken = {pattern.name for pattern in built_in}
    parents = taken | {metric.name for metric in time_metrics(shmem=True, threads=True)} | {pattern.name for pattern, _ in offered}
    for pattern, path in offered:
        if pattern.name in taken:
            raise UsageError(f"{path}: pattern {pattern.name}: there is one of that name, must be another")
        if pattern.of not in parents:
            raise UsageError(
                f"{path}: pattern {pattern.name} is one of '{pattern.of}', must be one of a metric of time or pattern that there is"
            )
        taken.add(pattern.name)
    return _parents_first([pattern for pattern, _ in offered])


def checked(result: object, trace: Trace) -> Instances:
    """Return what a pattern of the user's found in a run.

    Raises TypeError or ValueError if that is no Instances, or one of calls, causes, messages or collectives that are not in the trace.
    """
    if not isinstance(result, Instances):
        raise TypeError(f"instances returned {type(result).__name__}, must return perwiz.patterns.pattern.Instances")
    columns = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    for name, column in columns.items():
        if not isinstance(column, np.ndarray) or column.dtype.kind != "i" or column.shape != result.call.shape:
            raise TypeError(f"the column {name} of its instances must be an array of integers, one per instance")
    if (result.severity <= 0).any():
        raise ValueError(f"an instance of {result.severity.min()} ns, must be above 0: see Instances.severe")
    sizes = {"call": trace.calls, "cause": trace.calls, "message": trace.messages, "collective": trace.collectives}
    for name, table in sizes.items():
        least, column = 0 if name == "call" else NONE, columns[name]
        if ((column < least) | (column >= len(table))).any():
            raise ValueError(f"the column {name} of its instances must have numbers from {least} to {len(table) - 1}")
    if (np.diff(result.call) < 0).any():
        raise ValueError("its instances must be in the order of their calls: see perwiz.patterns.pattern.instances")
    return result


def _run(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"perwiz_own_{abs(hash(path))}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: no Python file, must end in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: a directory, must be a Python file") from None
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise UsageError(f"{_place(error)}: {type(error).__name__}: {error}") from None
    return module


def _loaded(point: importlib.metadata.EntryPoint) -> ModuleType:
    try:
        module: ModuleType = point.load()
    except Exception as error:
        raise UsageError(f"{point.value}: {type(error).__name__}: {error}") from None
    return module


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _patterns(module: ModuleType, path: str) -> list[type[Pattern]]:
    """Return the patterns a module defines, in its order."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Pattern)]
    own = [kind for kind in classes if kind.__module__ == module.__name__ and not getattr(kind, "__abstractmethods__", None)]
    for kind in own:
        if not all(isinstance(getattr(kind, key, None), str) for key in ("name", "title", "of")):
            raise UsageError(f"{path}: pattern {kind.__name__}: must say its name, title and of, as texts")
    if not own:
        raise UsageError(f"{path}: no pattern in it, must have a subclass of perwiz.patterns.pattern.Pattern")
    return own


def _parents_first(patterns: list[type[Pattern]]) -> list[type[Pattern]]:
    """Return patterns, each behind the one it is a special case of. Raises UsageError if they go round in a circle."""
    names = {pattern.name for pattern in patterns}
    out: list[type[Pattern]] = []
    while patterns:
        done = {pattern.name for pattern in out}
        ready = [pattern for pattern in patterns if pattern.of not in names or pattern.of in done]
        if not ready:
            raise UsageError(f"patterns {', '.join(p.name for p in patterns)}: special cases of each other, must lead to a metric")
        out += ready
        patterns = [pattern for pattern in patterns if pattern not in ready]
    return out
