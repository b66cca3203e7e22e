"""What recording costs a real program: its processor time with the recorder over that without.

`python scripts/overhead.py [--ranks N] [--widths W ...] [--repeats N]` solves a heat equation (scripts/programs/heat.cpp), runs with and
without recorder taking turns. The least processor time of each counts: other load on the machine can only add to it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

from perwiz.record import build, launch, programs

SOURCE = pathlib.Path(__file__).parent / "programs" / "heat.cpp"
KINDS = ("without", "recorded", "counted")


def settings(kind: str, mpicc: str, folder: str) -> dict[str, str]:
    """Return the environment of a run of this kind."""
    if kind == "without":
        return {}
    library = str(build.built(mpicc))
    if kind == "counted":
        return {"PERWIZ_PROFILE": "file", "PERWIZ_PROFILE_FILE": f"{folder}/profile", "LD_PRELOAD": library}
    return launch.variables(*launch.open_folder(f"{folder}/run"), library, {})


def once(kind: str, command: list[str], mpicc: str) -> tuple[int, float]:
    """Return how many calls the loop made, and its processor time in seconds, all processes together."""
    with tempfile.TemporaryDirectory() as folder:
        words = os.environ | settings(kind, mpicc, folder)
        done = subprocess.run(command, env=words, check=True, stdout=subprocess.PIPE, text=True)
    calls, seconds = re.findall(r"calls (\d+) seconds ([\d.]+)", done.stdout)[0]
    return int(calls), float(seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure what recording costs a program.")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of the MPI, with its options")
    parser.add_argument("--ranks", type=int, default=1, help="processes: several wait in busy loops, which is processor time, too")
    parser.add_argument("--widths", type=int, nargs="*", default=[64, 256, 1024], help="widths of the square: calls a second follow")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    launcher = args.mpiexec.split()
    mpicc = programs.mpicc_for(launcher)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/heat"
        compiler = mpicc.replace("mpicc", "mpicxx")
        subprocess.run([compiler, "-O2", f"-I{build.HERE}", str(SOURCE), "-o", program], check=True)
        for width in args.widths:
            command = [*launcher, "-n", str(args.ranks), program, str(width), str(max(100, 20_000_000 // width**2))]
            runs = [(kind, *once(kind, command, mpicc)) for _ in range(args.repeats) for kind in KINDS]
            least = {kind: min(seconds for one, _, seconds in runs if one == kind) for kind in KINDS}
            calls = runs[0][1]
            print(f"width {width:5}  {calls / least['without'] / 1000:8.1f} thousand calls a second of processor time", end="")
            for kind in KINDS[1:]:
                more = least[kind] - least["without"]
                print(f"   {kind} {more / least['without']:+7.2%}, {more / calls * 1e9:5.0f} ns a call", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
