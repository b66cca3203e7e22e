"""The same question about several recordings, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.sure.noise import Around
from perwiz.whatif.sure.recordings import check_same_program, recordings


def loop(*lengths):
    """One process that computes so long up to each of its barriers."""
    b = Builder(1)
    with b.region(0, "step"):
        for length in lengths:
            b.compute(0, length)
            b.barrier()
    return b.trace()


def asked(*traces, question="scale step=0.5"):
    first, *others = traces
    return recordings(predict(first, [question], hand_model(), clock="none"), others, hand_model(), "none")


def test_what_lies_between():
    """Steps of 80 to 120 ns, those of other recordings twice and three times as long: nearly all that varies lies between them."""
    lengths = [80, 120, 100] * 4
    several = asked(*(loop(*(factor * length for length in lengths)) for factor in (1, 2, 3)))
    assert several.gains == (600, 1200, 1800)
    told = predict(loop(*lengths), ["scale step=0.5"], hand_model(), clock="none").span.gain.deviation
    assert several.between == pytest.approx(1 - told**2 / 600**2)
    assert several.between > 0.9


def test_no_more_than_in_one():
    """Recordings that differ by less than runs drawn of one: nothing lies between them."""
    several = asked(*(loop(*[80, 120, 100] * 4, last) for last in (100, 102, 104)))
    assert (several.gains, several.between) == ((650, 651, 652), 0)


def test_range_holds_what_each_says():
    """Each alone says another range; the time in MPI_Init, 0, 500 and 70 ns here, belongs to the recording and not to the range.

    e0 MPI_Init   step   step   step ...
    """

    def started(factor, init):
        b = Builder(1)
        b.call(0, "Init", work=init)
        with b.region(0, "step"):
            for length in [80, 120, 100] * 4:
                b.compute(0, factor * length)
                b.barrier()
        return b.trace()

    runs = [started(1, 0), started(2, 500), started(3, 70)]
    alone = [predict(run, ["scale step=0.5"], hand_model(), clock="none").span for run in runs]
    inits = [0, 500, 70]
    two, three = asked(*runs[:2]).span, asked(*runs).span
    assert (two.least, two.most) == (alone[0].least, alone[1].most - 500)
    alike = [one.alike() for one in alone]
    assert three.least == min(one.least - init for one, init in zip(alike, inits, strict=True)) == alike[0].least
    assert three.most == max(one.most - init for one, init in zip(alike, inits, strict=True)) == alike[2].most - 70
    assert (three.gain, three.around) == (alone[0].gain, Around(alone[0].around.sooner, alone[0].around.later))
    assert two.around == alone[0].around


def test_two_do_not_tell():
    assert asked(loop(*[80, 120, 100] * 4), loop(*[160, 240, 200] * 4)).between is None


def test_equal_ones_do_not_vary():
    assert asked(*[loop(*[80, 120, 100] * 4)] * 3).between is None


def test_nothing_repeats():
    assert asked(loop(10), loop(20), loop(30)).between is None


def test_refusal():
    """A call that only the first has."""
    with pytest.raises(UsageError) as error:
        asked(loop(10, 20), loop(10), question="zero-wait e1")
    assert str(error.value) == "built: e1: no such call, the trace has calls e0 to e0"


ROUTINES = ["Wtime", "Comm_rank", "Comm_size", "Initialized", "Finalized"]


def program(*names, processes=2, region="step"):
    """Processes that call routines one after the other, ten times."""
    b = Builder(processes)
    for _ in range(10):
        for process in range(processes):
            with b.region(process, region):
                for name in names:
                    b.call(process, name)
    return b.trace()


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (program("Wtime", processes=3), "has 3 processes, not 2"),
        (program("Wtime", "Comm_rank"), "calls MPI_Comm_rank, which the other does not"),
        (program("Comm_rank"), "calls MPI_Comm_rank, which the other does not"),
        (program("Wtime", region="\x1bloop"), "has region \\x1bloop, which the other does not"),
    ],
)
def test_another_program(other, told):
    with pytest.raises(UsageError) as error:
        asked(program("Wtime"), other, question="speed rank:0=2")
    assert str(error.value) == f"built: {told}, must be of the same program as built"


def test_another_program__lacks_what_the_first_one_has():
    with pytest.raises(UsageError) as error:
        asked(program(*ROUTINES), program("Wtime"), question="speed rank:0=2")
    assert str(error.value) == "built: lacks MPI_Initialized, MPI_Finalized, MPI_Comm_rank, 1 more, must be of the same program as built"


def test_what_is_called_seldom_tells_no_other_program():
    """One call of 101 is less than a hundredth."""
    check_same_program(*(calls(100, last) for last in ("Wtime", "Comm_rank")))
    with pytest.raises(UsageError, match="calls MPI_Comm_rank, which the other does not"):
        check_same_program(*(calls(99, last) for last in ("Wtime", "Comm_rank")))


def calls(many, last):
    b = Builder(1)
    for name in [*["Wtime"] * many, last]:
        b.call(0, name)
    return b.trace()
