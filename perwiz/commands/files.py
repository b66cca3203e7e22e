"""What a command reads and what it puts out: files, checked before it works, written all or none; and its answer."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from perwiz.commands import terminal
from perwiz.errors import DONE, INCOMPLETE, NotInWindowsError, UsageError
from perwiz.formats.whole import replacing

if TYPE_CHECKING:
    from perwiz.progress import Progress
    from perwiz.report.records import Versioned
    from perwiz.trace.parts.cut import Chosen
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Trace
    from perwiz.trace.windows.large import Large
    from perwiz.whatif.run import Start

D = TypeVar("D", bound="Versioned")


class Needs(NamedTuple):
    """Bytes of memory that an answer in windows takes, and calls that a window must have."""

    call: int
    """Per call of a window."""
    location: int
    all: int
    """Beside these."""
    least: int
    """Calls."""


OF_WINDOWS = Needs(1000, 20_000, 80 << 20, 1000)
"""As measured of `perwiz predict` on halo exchanges."""


class Takes(NamedTuple):
    """Memory that a command takes of a trace that it holds, and what takes less."""

    call: int
    """Bytes at the peak per call: what halo exchanges of 3 million calls take more than those of 1 million (scripts/measure_growth.py)."""
    helps: tuple[str, ...] = ()


_IN_WINDOWS, _SEVERAL = "a store, asked about in windows of time (perwiz convert)", "parts on several machines (mpiexec)"
OF_COMMANDS = {
    "info": Takes(210, (_IN_WINDOWS, _SEVERAL)),
    "predict": Takes(255, (_IN_WINDOWS, _SEVERAL)),
    "correct": Takes(205, (_SEVERAL,)),
    "patterns": Takes(265, (_SEVERAL,)),
    "domino": Takes(320, (_SEVERAL,)),
    "report": Takes(410),
}
"""By command."""
_OTHERS = Takes(550)


def _as_it_is(trace: Trace) -> Trace:
    return trace


def read(path: str, model: Start = None, team: Team | None = None, command: str = "", taken: Callable[[Trace], Trace] = _as_it_is) -> Trace:
    """Return what is `taken` of the whole trace in a file, which `perwiz.whatif.timed.read` reads. On a terminal it shows its progress.

    A schedule has the times of `model`, changes being those of the default one. Each process of a team has its part of the tied part. If
    there is less memory than the `command` takes, as OF_COMMANDS knows, says so on standard error, and has large arrays in files.
    """
    from perwiz.progress import Progress
    from perwiz.trace.resources import give_back, one_heap
    from perwiz.whatif import timed

    one_heap()
    if team is None:
        _make_room(path, command)
    with Progress(f"reading {path}") as progress:
        if team is None:
            trace = timed.read(path, progress, model, whole=True)
        else:
            trace = _part(path, model, team, progress, taken)
    if team is None:
        _tell_of_stages(path, trace)
        trace = taken(trace)
    give_back(len(trace.calls) + len(trace.regions))
    return trace


def _tell_of_stages(path: str, trace: Trace) -> None:
    """Say on standard error why a question on a store takes as long as one on the file it was made of."""
    from perwiz.whatif.stages import outdated

    if outdated(trace):
        again = f"perwiz convert {shlex.quote(path)} NEW.perwiz keeps it for the next question"
        print(f"perwiz: {path}: what it keeps beside the trace is of another version of perwiz, and made anew; {again}", file=sys.stderr)


def _make_room(path: str, command: str) -> None:
    """If there is less memory than a command takes of a trace, let its large arrays be in files; say so on standard error, and what would
    help. Where no disk has room for them, or addresses are limited, that is all.
    """
    lack = _lacking(path, command)
    if lack is None or _in_files(path, lack):
        return
    helps = f"{lack.helps}, a higher limit or a shorter recording would help, PERWIZ_THREADS=1 a little"
    print(f"perwiz: {path}: {lack}: {helps}", file=sys.stderr)


class _Lack(NamedTuple):
    """Memory that a command takes of a trace, more than there is."""

    needs: int
    left: int
    helps: str
    """What takes less, or has more."""

    def __str__(self) -> str:
        from perwiz import words

        return f"an answer takes some {words.size(self.needs)} of memory, {words.size(self.left)} are left"


def _lacking(path: str, command: str) -> _Lack | None:
    """Return what memory a command takes of a trace if there is less; None if there is enough."""
    from perwiz import allowed
    from perwiz.formats.files import calls_of

    takes = OF_COMMANDS.get(command, _OTHERS)
    with contextlib.suppress(OSError, ValueError):  # what cannot be read says so when it is
        needs, left = calls_of(path) * takes.call, allowed.memory()
        if left is not None and needs > left:
            return _Lack(needs, left, ", ".join([*takes.helps, "a machine with more"]))
    return None


def _in_files(path: str, lack: _Lack, why: NotInWindowsError | None = None) -> bool:
    """Let large arrays be in files beside a trace, or where the system has such, and say so, and why windows do not do.

    Return whether there is room for them.
    """
    from perwiz import allowed
    from perwiz.spilling.folders import spill, spills

    if spills():
        return True
    mapped = allowed.addresses()
    if mapped is not None and mapped < lack.needs:
        return False
    folder = spill([os.path.dirname(os.path.abspath(path)), tempfile.gettempdir()], lack.needs, lack.left)
    if folder is not None:
        if why is not None:
            print(f"perwiz: {why}", file=sys.stderr)
        slower = f"what there is no room for is in files in {folder} meanwhile, which takes several times as long"
        print(f"perwiz: {path}: {lack}: {slower}; {lack.helps} or a higher limit would help", file=sys.stderr)
    return folder is not None


@dataclasses.dataclass(frozen=True)
class Windows:
    """A trace to be asked about window by window."""

    large: Large
    most: int
    """Calls that a window may have."""
    folder: str | None
    """Where to put aside what is sorted by window; None: where the system has it."""


def in_windows(path: str, command: str, ask: Callable[[Windows], int]) -> int | None:
    """Return the exit code of a command that asks a store window by window, as it takes more memory for all of it than there is.

    None of other traces, and where windows do not tell what is asked but there is room for large arrays in files: then all is to be held.
    Raises what `ask` does, and NotInWindowsError, if there is neither.
    """
    from perwiz.formats.store.format import STORE

    lack = _lacking(path, command) if STORE.looks_like(path) else None
    if lack is None:
        return None
    try:
        return ask(_windows(path, lack))
    except NotInWindowsError as why:
        if not _in_files(path, lack, why):
            raise
        return None


def _windows(path: str, lack: _Lack) -> Windows:
    """Return the trace of a store in windows. Raises NotInWindowsError if there is too little memory for any."""
    from perwiz import words
    from perwiz.formats.store.large import read_large
    from perwiz.trace.parts.cut import ends_early

    large = read_large(path)
    if ends_early(large):
        what = "records of some ranks end without MPI_Finalize, before those of others, and windows are not cut there"
        raise NotInWindowsError(f"{path}: {lack}, and {what}: a higher limit would help")
    folder, beside = os.path.dirname(os.path.abspath(path)), OF_WINDOWS.all + len(large.trace.locations) * OF_WINDOWS.location
    most = (lack.left - beside) // OF_WINDOWS.call
    if most < OF_WINDOWS.least:
        needs = words.size(beside + OF_WINDOWS.least * OF_WINDOWS.call)
        raise NotInWindowsError(f"{path}: {lack}, and windows of it take {needs}: a higher limit would help")
    print(f"perwiz: {path}: {lack}: it is asked about in windows of some {most} calls", file=sys.stderr)
    return Windows(large, most, folder if os.access(folder, os.W_OK) else None)


def _part(path: str, model: Start, team: Team, progress: Progress, taken: Callable[[Trace], Trace]) -> Trace:
    """Return the part that this process of a team has of what is taken of a trace."""
    from perwiz.formats import files as formats
    from perwiz.trace.spread.cut import cut
    from perwiz.trace.spread.team import agreed
    from perwiz.trace.tied import tied_part
    from perwiz.whatif import timed

    team.stage = "reading"
    part = formats.read_part(path, team, progress)
    if part is not None:
        part = taken(part)
    else:
        whole = agreed(team, partial(timed.read, path, progress, model, whole=True))
        if not team.rank:
            print(f"perwiz: {path}: every process reads all of it and keeps its part", file=sys.stderr)
        part = cut(tied_part(taken(whole)), team)
    return part


def refuse(given: Mapping[str, object], team: Team | None = None, windows: Windows | None = None) -> None:
    """Raise UsageError if something is asked, by option, that several processes do not do together, NotInWindowsError for windows."""
    asked = next((option for option, value in given.items() if value), None)
    if windows is not None and asked:
        raise NotInWindowsError(f"{asked}: is not done in windows of a run, must be asked where all of it can be held")
    if team is not None and asked:
        raise UsageError(f"{asked}: is not done by several processes together, must be asked of one (without mpiexec)")


def whole(path: str, model: Start = None, team: Team | None = None, command: str = "") -> tuple[Trace, Start]:
    """Return the trace in a file, cut where records of a process end before those of others, and what questions on it start from."""
    from perwiz.whatif.timed import up_to_records_end

    return read(path, model, team, command, up_to_records_end), model


def part(path: str, chosen: Chosen | None, model: Start = None, team: Team | None = None, command: str = "") -> tuple[Trace, Start]:
    """Return the trace in a file, or that of some of its iterations, and what questions on it start from.

    A run of which some processes have no records up to its end is cut where the first of these ends, a training job lacks its last steps
    where these are disturbed (`undisturbed`), unless all is asked for. A part has its clock offsets applied. The machine is that of the
    whole run: all of its messages tell what it is. Each process of a team has its part.
    """
    return parts([path], chosen, model, team, command)[0]


def listed(args: argparse.Namespace, model: Start, command: str) -> tuple[Trace, Start]:
    """Return the same of what a list of changes is asked of: unless `args` name iterations, of a large run those that stand for all, if any
    do. The arguments name them from then on.
    """
    from perwiz.trace.parts.cut import undisturbed
    from perwiz.trace.parts.sample import sample, sampled

    if args.iterations is not None:
        return part(args.trace, args.iterations, model, command=command)
    trace, _ = whole(args.trace, model, command=command)
    end = undisturbed(trace)
    found = sample(trace, end)
    if found is None:
        return _undisturbed([trace], model)[0]
    args.iterations = found.chosen
    return _restricted(trace, model, partial(sampled, found=found, end=end))


def parts(
    paths: Sequence[str], chosen: Chosen | None, model: Start = None, team: Team | None = None, command: str = ""
) -> list[tuple[Trace, Start]]:
    """Return the same of runs that are set beside one another: the last steps that one lacks, others of as many steps lack too."""
    from perwiz.trace.parts.cut import ALL, restricted

    if chosen == ALL:
        return [whole(path, model, team, command) for path in paths]
    if chosen is not None:
        return [_restricted(read(path, model, team, command), model, partial(restricted, chosen=chosen)) for path in paths]
    return _undisturbed([whole(path, model, team, command)[0] for path in paths], model)


def _undisturbed(traces: Sequence[Trace], model: Start) -> list[tuple[Trace, Start]]:
    """Return runs without last steps that are disturbed in one of them, and what questions on them start from."""
    from perwiz.trace.parts.cut import steps, undisturbed, without_last

    told = [(steps(trace), undisturbed(trace)) for trace in traces]
    least = [min((end for many, end in told if end and many == own), default=None) for own, _ in told]
    return [
        (trace, model) if end is None else _restricted(trace, model, partial(without_last, end=end))
        for trace, end in zip(traces, least, strict=True)
    ]


def _restricted(trace: Trace, model: Start, cut: Callable[[Trace], Trace]) -> tuple[Trace, Start]:
    """Return what is cut of a trace, and what questions on it start from: its machine is that of the whole run."""
    from perwiz.clock import offsets
    from perwiz.whatif.run import machine_of

    trace = offsets.apply(trace)
    return cut(trace), machine_of(model, trace, part=True)


def check(outputs: Iterable[str | None], inputs: Iterable[str | None], plot: str | None = None, schedules: bool = False) -> None:
    """Raise UsageError if one of the outputs cannot be written, is one of the inputs or a part of one, or is named twice; None is none.

    The same if standard input is named twice. `plot` is an output too, and must be a picture in a format that perwiz draws. Only where
    `schedules` may be written one may be a schedule: it is made of a run under a model.
    """
    from perwiz.formats import files as formats
    from perwiz.formats.chakra.format import CHAKRA
    from perwiz.formats.goal.format import GOAL

    outputs, given = [*outputs], [path for path in inputs if path is not None]
    if given.count("-") > 1:
        raise UsageError("-: standard input holds one trace, must be named once")
    if plot is None and all(path is None for path in outputs):
        return
    sources = [*given, *(source for path in given for form in formats.FORMATS for source in form.sources(path))]
    folders = [os.path.realpath(source) for source in sources if os.path.isdir(source)]
    read = [os.stat(source) for source in sources if os.path.exists(source)]
    if "-" in given:
        with contextlib.suppress(OSError):
            read.append(os.fstat(0))
    taken: set[str] = set()
    for path in outputs if not schedules else ():
        if path is not None and (form := formats.format_of(path)) in (GOAL, CHAKRA):
            (GOAL if form is GOAL else CHAKRA).refuse(path)
    for path in (path for path in (*outputs, plot) if path is not None):
        _check_place(path)
        for form in formats.FORMATS:
            form.check_name(path)
        own = [*formats.format_of(path).files(os.path.realpath(path))]
        if not taken.isdisjoint(own):
            raise UsageError(f"{path}: to be written twice, must be two files")
        taken.update(own)
        written = [os.stat(part) for part in own if os.path.exists(part)]
        if os.path.dirname(own[0]) in folders or any(os.path.samestat(new, old) for new in written for old in read):
            raise UsageError(f"{path}: {_clash(own, given)}is read by this command, must be another file")
        formats.format_of(path).check(path)
    if plot is not None:
        from perwiz.report.picture.figure import suffix

        suffix(plot)


def _clash(own: list[str], given: list[str]) -> str:
    """Return the name of the recorded run among the inputs that lies where an archive has its folder, as the beginning of a message."""
    runs = [path for path in given if os.path.isfile(os.path.join(path, "run.json")) and os.path.realpath(path) in own]
    return f"its folder {runs[0]} " if runs else ""


def _check_place(path: str) -> None:
    from perwiz.formats.files import format_of

    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path) or "."
    if path in ("", "-"):
        raise UsageError(f"'{path}': no file to write to, must be the name of one")
    form = format_of(path.rstrip("/"))
    if form.is_folder and os.path.isdir(path) and not form.looks_like(path):
        raise UsageError(f"{path}: a directory and no {form.noun.removeprefix('a ')}, must be one to be replaced")
    if form.is_folder and os.path.isfile(path):
        form.check(path)
    if (os.path.isdir(path) and not form.is_folder) or path.endswith("/"):
        raise UsageError(f"{path}: a directory, must be the name of a file")
    place = os.path.abspath(path)
    device = os.path.dirname(place) in ("/dev", "/dev/fd") or place.startswith("/proc/")
    if device or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        raise UsageError(f"{path}: no regular file, must be the name of one")
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no directory {folder}, must be in one that exists")
    if not os.access(folder, os.W_OK | os.X_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: cannot be written: permission denied")


def write_trace(trace: Trace, name: str, path: str) -> None:
    """Write a trace to `path`, as a job that is to become the file `name`; say what is not in it, and if events do not have their time."""
    from perwiz.formats import files as formats
    from perwiz.formats import losses

    moved, missing = formats.write(trace, path), formats.format_of(path).missing(trace)
    if missing:
        lost = ", ".join(f"{what}: {number}" for what, number in missing)
        print(f"perwiz: {name}: written without {lost}; {losses.KEPT}", file=sys.stderr)
    if moved:
        print(f"perwiz: {name}: {moved} region boundaries or records moved, so that no time runs backwards", file=sys.stderr)


def write_text(text: str, path: str) -> None:
    """Write a text to a file, as a job."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write(jobs: Mapping[str | None, Callable[[str], None]]) -> None:
    """Let every job write its file, named by its key (None: none), in a directory of its own beside the place; move all when all are done.

    Raises what a job raises, with the name the file was to have, and UsageError when a file cannot be written; then nothing is left.
    """
    from perwiz.formats.files import format_of

    with contextlib.ExitStack() as stack:
        for path, job in jobs.items():
            if path is not None:
                job(stack.enter_context(replacing(path, format_of(path).files)))


def _chosen(args: argparse.Namespace, document: Versioned) -> bool:
    """Return whether a directory was named and the document is about a file in it: then even a short answer says of which."""
    path = getattr(args, "trace", None)
    inside = f"{path.rstrip(os.sep)}{os.sep}" if isinstance(path, str) else ""
    return bool(inside) and os.path.isdir(inside) and str(getattr(document, "trace", "")).startswith(inside)


def finish(
    args: argparse.Namespace,
    document: D,
    text: Callable[[D], str],
    incomplete: bool,
    outputs: Mapping[str | None, Callable[[str], None]] = {},
    team: Team | None = None,
) -> int:
    """Return the exit code, after writing the outputs (see `write`) and printing a document, as JSON if `args` say so, else as text.

    Of a team rank 0 does.
    """
    from perwiz.report.records import to_json

    write(outputs)
    if team is not None and team.rank:
        return INCOMPLETE if incomplete else DONE
    if args.json:
        print(to_json(document))
    else:
        terminal.show(partial(text, document), getattr(args, "quiet", None), _chosen(args, document))
    return INCOMPLETE if incomplete else DONE
