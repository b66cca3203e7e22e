"""What people run beside `perwiz jobs`, with the real programs: rsyslog of node and log host, the journal, units of systemd, cron."""

from __future__ import annotations

import getpass
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from counters import NOON, OURS, tagged
from perwiz.commands import parser
from perwiz.jobs.record import Record
from perwiz.jobs.store import stream

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICES = ROOT / "packaging" / "services"
UNITS = sorted([*SERVICES.glob("*.service"), *SERVICES.glob("*.timer")])
REMOTE = "/lib/systemd/systemd-journal-remote"
PERWIZ = f"{sys.executable} -P -m perwiz"


def text(name):
    return (SERVICES / name).read_text(encoding="utf-8")


def found(lines):
    (only,) = stream.Reader("log", NOON + 86_400).read(lines)
    assert isinstance(only, Record), only
    return only


@pytest.fixture
def rsyslogd(tmp_path):
    """Return start(name, configuration), which starts rsyslogd; it returns when that listens. All end with the test."""
    if not shutil.which("rsyslogd"):
        pytest.skip("no rsyslogd")
    running = []

    def start(name, configuration):
        file, number = tmp_path / f"{name}.conf", tmp_path / f"{name}.pid"
        (tmp_path / f"{name}.work").mkdir()
        file.write_text(f'global(workDirectory="{tmp_path}/{name}.work" net.enableDNS="off")\n{configuration}', encoding="utf-8")
        for words in (["-N1"], ["-i", str(number)]):  # looks at the configuration; becomes a daemon when it is ready
            done = subprocess.run(["rsyslogd", "-f", str(file), *words], capture_output=True, text=True, timeout=30, check=False)
            assert (done.returncode, re.findall("(?i)error.*|warning.*", done.stderr)) == (0, [])
        running.append(int(number.read_text(encoding="ascii")))

    yield start
    for pid in running:
        handle = os.pidfd_open(pid)
        os.kill(pid, signal.SIGTERM)
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)


def changed(configuration, **changes):
    """Return a configuration with other values in place of those it ships."""
    for old, new in changes.values():
        assert configuration.count(old) == 1, old
        configuration = configuration.replace(old, new)
    return configuration


@pytest.mark.slow
def test_rsyslog__a_record_from_a_node_to_the_log_host(rsyslogd, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = f'port="{free.getsockname()[1]}"'
    there = {"port": ('port="514"', port), "file": ("/var/log/perwiz", str(tmp_path)), "user": ('"perwiz")\n', f'"{getpass.getuser()}")\n')}
    here = {
        "port": ('port="514"', port),
        "to": ('"loghost"', '"127.0.0.1"'),
        "log": ('"imuxsock" ', f'"imuxsock" SysSock.Name="{tmp_path}/log" '),
    }
    rsyslogd("loghost", changed(text("30-perwiz-loghost.conf"), **there))
    rsyslogd("node", changed(text("30-perwiz-node.conf"), **here))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.connect(str(tmp_path / "log"))
        for line in tagged(OURS, 4711, "Oct 26 12:00:01"):  # as the recorder sends it: no host, and an end of text
            log.send(line.rstrip("\n").encode() + b"\0")
    with subprocess.Popen(
        ["tail", "-n", "+1", "-F", str(tmp_path / "records")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as tail:
        lines = []
        for line in tail.stdout:
            lines.append(line)
            if line.endswith(": E <4711>\n"):
                tail.terminate()
    assert len(lines) == len(OURS.splitlines())
    assert found(lines)._replace(host="n017") == found(OURS.splitlines(keepends=True))


@pytest.mark.slow
def test_journal__a_record_as_journald_keeps_it(tmp_path):
    """In a container a process has another number for itself than for the journal, which shows its own."""
    if not os.access(REMOTE, os.X_OK) or not shutil.which("journalctl"):
        pytest.skip("no systemd-journal-remote")
    lines = [line.partition("]: ")[2].rstrip("\n") for line in tagged(OURS, 4711)]
    fields = {"_BOOT_ID": "1" * 32, "_HOSTNAME": "n017", "_PID": "9", "SYSLOG_IDENTIFIER": "perwiz", "SYSLOG_PID": "4711", "PRIORITY": "6"}
    entries = [
        {"__REALTIME_TIMESTAMP": (NOON + 1) * 1_000_000 + k, "__MONOTONIC_TIMESTAMP": k + 1} | fields | {"MESSAGE": line}
        for k, line in enumerate(lines)
    ]
    journal = str(tmp_path / "one.journal")
    exported = "".join("".join(f"{name}={value}\n" for name, value in entry.items()) + "\n" for entry in entries)
    subprocess.run([REMOTE, "-o", journal, "-"], input=exported, text=True, capture_output=True, check=True, timeout=30)
    (asked,) = re.findall(r"journalctl (.*?) \|", text("perwiz-jobs-journal.service"))
    words = [word for word in asked.split() if word not in ("--follow", "--lines=all", "--since=-7d")]
    done = subprocess.run(["journalctl", "--file", journal, *words], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.count("n017 perwiz[9]: ") == len(lines)
    assert found(done.stdout.splitlines(keepends=True)) == found(OURS.splitlines(keepends=True))


def commands(lines):
    """Return the words of each `perwiz jobs` of some lines of shell, without what the shell puts in."""
    plain = re.sub(r"\$\([^)]*\)|\$\{?\w+\}?", "2026-10", lines.replace("\\%", "%").replace("%%", "%").replace('"', ""))
    return [shlex.split(found[1]) for found in re.finditer(r"perwiz jobs ([^|>'\n]+)", plain)]


@pytest.mark.parametrize("name", ["perwiz-jobs.service", "perwiz-jobs-journal.service", "perwiz.cron"])
def test_commands__are_understood(name):
    lines = "\n".join(line for line in text(name).splitlines() if not line.startswith("#"))
    asked = commands(lines)
    assert len(asked) == {"perwiz-jobs.service": 2, "perwiz-jobs-journal.service": 1, "perwiz.cron": 3}[name]
    for words in asked:
        parser.of("jobs").parse_args(words)


def test_units__systemd_has_nothing_to_say(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    for unit in UNITS:
        (tmp_path / unit.name).write_text(text(unit.name).replace("/usr/bin/perwiz", "/bin/true"), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / unit.name) for unit in UNITS)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_unit__does_what_it_says(tmp_path):
    """Its two commands, as systemd would start them: records into the database, and the page of a month."""
    place = tmp_path / "lib"
    place.mkdir()
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "records").write_text(OURS, encoding="utf-8")
    starts = re.findall(r"^ExecStart=(.*)$", text("perwiz-jobs.service"), re.MULTILINE)
    environment = os.environ | {"PERWIZ_JOBS": str(place / "jobs.sqlite"), "MACHINE": "hawk"}
    for start in starts:
        moved = start.replace("%%", "%").replace("/var/lib/perwiz", str(place)).replace("/var/log/perwiz", str(tmp_path / "log"))
        words = shlex.split(moved.replace("/usr/bin/perwiz", PERWIZ).replace("${MACHINE}", "hawk"))
        assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    (page,) = (place / "pages").iterdir()
    assert re.fullmatch(r"20\d\d-\d\d\.html", page.name)
    assert "<html" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["30-perwiz-node.conf", "30-perwiz-loghost.conf", "perwiz.cron"])
def test_docs__show_what_is_shipped(name):
    shown = "".join(line for line in text(name).splitlines(keepends=True) if not line.startswith("#"))
    assert f"```\n{shown}```" in (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")
