"""Whether the ranked list names what was really changed: `ranks.py MEASURED.csv`, of columns recording, question, before_ns, measured_ns.

A row is a program that was changed as the question says (options of `perwiz predict`), and the times before and after, ns. Paths are
relative to the table. Printed are, per change, the line that it is in of the list that perwiz makes of the recording before, counted
among lines with changes of its kind, and per recording Kendall's tau between the gains predicted and measured.
"""

from __future__ import annotations

import csv
import itertools
import pathlib
import shlex
import sys

from perwiz.formats.files import read
from perwiz.whatif.hypotheses.base import apply, parse
from perwiz.whatif.order.reorder import Moved, Reordered
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.ranking import Ranking, rank
from perwiz.whatif.run import replayed
from perwiz.whatif.selectors import locations

KINDS = {"balance-time": "balance", "speed": "slowest", "scale": "slowest", "move": "order", "advance": "order"}


def moved(ranking: Ranking, question: str) -> set[int]:
    """Return the calls that a change of order moves."""
    weighted = apply(ranking.run.weighted, [parse(question)])
    moves: tuple[Moved, ...] = weighted.moves if isinstance(weighted, Reordered) else ()
    return {call for move in moves for call in range(move.first, move.last + 1) if move.end >= move.before}


def same(ranking: Ranking, change: Change, question: str) -> bool:
    """Return whether a change of the list is the one that was made: the same part or process, or most of what it moves was moved."""
    word, _, argument = question.partition(" ")
    trace, said = ranking.run.trace, change.question
    if word == "speed":
        return said.rpartition("=")[0] == question.rpartition("=")[0]
    if word == "scale":
        instances = trace.region_names == trace.names.index(argument.rpartition("=")[0])
        return change.by == "rank" and bool(
            locations(trace, said.partition(" ")[2].rpartition("=")[0])[trace.regions.location[instances]].all()
        )
    if word == "balance-time":
        return said == question
    moves = moved(ranking, said)
    return 2 * len(moves & moved(ranking, question)) > len(moves)


def tau(pairs: list[tuple[int, int]]) -> float:
    """Return Kendall's tau-a of pairs of numbers."""
    signs = [(a > c) - (a < c) == (b > d) - (b < d) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    return sum(1 if agree else -1 for agree in signs) / len(signs)


def main(table: str) -> None:
    """Print the places and taus."""
    rows = list(csv.DictReader(pathlib.Path(table).read_text().splitlines()))
    places, taus = [], []
    for recording, group in itertools.groupby(rows, key=lambda row: row["recording"]):
        trace = read(str(pathlib.Path(table).parent / recording))
        ranking, gains = rank(replayed(trace)), {}
        for row in group:
            option, argument = shlex.split(row["question"])
            question = f"{option.removeprefix('--')} {argument}"
            kind = KINDS[question.partition(" ")[0]]
            lines = [[change for change in (line.change, *line.includes) if change.kind == kind] for line in ranking.lines]
            listed = [line for line in lines if line]
            place = next((k for k, line in enumerate(listed, 1) if any(same(ranking, change, question) for change in line)), 0)
            predicted = predict(trace, question).gain
            gains[row["measured_ns"]] = (predicted, int(row["before_ns"]) - int(row["measured_ns"]))
            places.append(place)
            print(f"{recording:34} {kind:8} line {place or '-'} of {len(listed):3}  {question[:40]}")
        if len(gains) > 1:
            taus.append(tau(list(gains.values())))
            print(f"{recording:34} tau {taus[-1]:+.2f} over {len(gains)} changes")
    first = f"{sum(0 < place <= 3 for place in places)} of {len(places)} in the first three lines of their kind"
    print(f"{first}; mean tau {sum(taus) / len(taus):+.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
