"""Where files are written: links are followed, devices and inputs refused, nothing is left when a signal ends the work."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from perwiz.cli import main
from perwiz.commands import files
from perwiz.errors import UsageError

SAMPLE = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_links_are_followed():
    pathlib.Path("real.txt").write_text("old")
    os.chmod("real.txt", 0o600)
    os.symlink("real.txt", "link.txt")
    files.check(["link.txt"], [])
    files.write({"link.txt": lambda part: pathlib.Path(part).write_text("new")})
    assert os.path.islink("link.txt")
    assert pathlib.Path("real.txt").read_text() == "new"
    assert os.stat("real.txt").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/null", "/proc/self/fd/1"])
def test_devices_are_refused(path):
    with pytest.raises(UsageError, match=f"^{path}: no regular file, must be the name of one$"):
        files.check([path], [])


@pytest.mark.slow
def test_standard_input_is_an_input():
    pathlib.Path("in.alog").write_bytes(pathlib.Path(SAMPLE).read_bytes())
    with open("in.alog", "rb") as stream:
        command = [sys.executable, "-m", "perwiz", "predict", "-", "-o", "in.alog"]
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "perwiz: in.alog: is read by this command, must be another file\n")
    assert pathlib.Path("in.alog").read_bytes() == pathlib.Path(SAMPLE).read_bytes()


@pytest.fixture
def signalled(monkeypatch):
    """Return signalled(number), the exit code where this signal comes while out.alog is half written."""
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}

    def ask(number):
        def write(trace, path):
            pathlib.Path(path).write_text("half")
            os.kill(os.getpid(), number)

        monkeypatch.setattr("perwiz.formats.files.write", write)
        return main(["predict", SAMPLE, "-o", "out.alog"])

    yield ask
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(signalled, number):
    signal.signal(number, signal.SIG_DFL)  # under nohup one is ignored
    assert signalled(number) == 128 + number
    assert os.listdir() == []


def test_a_signal_that_is_ignored(signalled):
    """As `nohup perwiz` has it, whose terminal is closed meanwhile."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signalled(signal.SIGHUP) == 0
    assert os.listdir() == ["out.alog"]
