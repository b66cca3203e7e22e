"""How many processors and how much memory a process may use: told by the environment, affinity and control groups of both versions."""

import pathlib
import resource

import pytest

from perwiz import allowed
from perwiz.errors import UsageError


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Yield what writes files of control groups; this process is in a/b of version 2 and c of version 1, and may use 8 processors."""
    for variable in (allowed.VARIABLE, allowed.MEMORY):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("resource.getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    (tmp_path / "status").write_text("Name:\tperwiz\nVmSize:\t 900 kB\nVmRSS:\t 300 kB\nVmData:\t 500 kB\n")
    monkeypatch.setattr(allowed, "_STATUS", str(tmp_path / "status"))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(allowed, "_ROOT", str(tmp_path))
    (tmp_path / "self").write_text("4:cpu,cpuacct:/c\n3:memory:/c\n0::/a/b\n")
    monkeypatch.setattr(allowed, "_GROUPS_OF", str(tmp_path / "self"))
    (tmp_path / "meminfo").write_text("MemTotal: 9999999 kB\nMemAvailable: 4000000 kB\n")
    monkeypatch.setattr(allowed, "_SYSTEM", str(tmp_path / "meminfo"))

    def write(path, **files):
        folder = pathlib.Path(tmp_path, path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")
        allowed._quotas.cache_clear()

    write(".")
    yield write
    allowed._quotas.cache_clear()


def test_processors__as_many_as_affinity_allows(groups):
    assert allowed.processors() == 8


def test_processors__quota_of_any_group_above_rounded_up(groups):
    groups("a/b", cpu__max="max 100000")
    groups("a", cpu__max="250000 100000")
    assert allowed.processors() == 3


def test_processors__quota_of_version_1(groups):
    """-1 is none."""
    groups("cpu/c", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert allowed.processors() == 8
    groups("cpu/c", cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000")
    assert allowed.processors() == 1


def test_processors__as_many_as_asked_for(groups, monkeypatch):
    groups("a", cpu__max="250000 100000")
    monkeypatch.setenv(allowed.VARIABLE, "5")
    assert allowed.processors() == 5


@pytest.mark.parametrize("text", ["", "0", "-1", "2.5", "1025", "many", "٣"])
def test_processors__asked_for_in_no_number(text, monkeypatch):
    monkeypatch.setenv(allowed.VARIABLE, text)
    with pytest.raises(UsageError, match=rf"^PERWIZ_THREADS={text}: must be a whole number from 1 to 1024$"):
        allowed.processors()


def test_memory__what_the_system_has_left(groups):
    assert allowed.memory() == 4_000_000 << 10


def test_memory__what_groups_leave_and_no_cached_files(groups):
    """Version 2: 1000 of which 700 are taken, 200 of them cached files; version 1: no limit, then a smaller one."""
    groups("a", memory__max="1000", memory__current="700", memory__stat="anon 500\ninactive_file 200")
    groups("memory/c", memory__limit_in_bytes=str(2**63 - 4096), memory__usage_in_bytes="7", memory__stat="total_inactive_file 0")
    assert allowed.memory() == 500
    groups("memory/c", memory__limit_in_bytes="400")
    assert allowed.memory() == 393


def test_memory__nothing_tells(groups, monkeypatch):
    monkeypatch.setattr(allowed, "_SYSTEM", "/nowhere")
    assert allowed.memory() is None


def test_memory__what_limits_of_the_process_leave(groups, monkeypatch):
    """As ulimit -v and -d set them: 2 MiB of addresses, of which it has 900 KiB, and then 1 MiB of data, of which it has 500."""
    limits = {resource.RLIMIT_AS: 2 << 20}
    monkeypatch.setattr("resource.getrlimit", lambda kind: (limits.get(kind, resource.RLIM_INFINITY), 0))
    assert allowed.memory() == (2048 - 900) << 10
    limits[resource.RLIMIT_DATA] = 1 << 20
    assert allowed.memory() == (1024 - 500) << 10


def test_memory__as_much_as_asked_for(groups, monkeypatch):
    """It has 300 KiB."""
    for text, most in (("4M", 4096 << 10), ("1G", 1 << 30), ("500K", 500 << 10), ("409600", 400 << 10)):
        monkeypatch.setenv(allowed.MEMORY, text)
        assert allowed.memory() == most - (300 << 10)


@pytest.mark.parametrize("text", ["", "0", "-1G", "4T", "4 G", "much", "٣"])
def test_memory__asked_for_in_no_size(text, monkeypatch):
    monkeypatch.setenv(allowed.MEMORY, text)
    with pytest.raises(UsageError, match=rf"^PERWIZ_MEMORY={text}: must be a size in bytes, or in K, M or G, such as 4G$"):
        allowed.memory()
