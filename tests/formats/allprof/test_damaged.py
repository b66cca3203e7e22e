"""liballprof: files that were damaged."""

import random

import pytest

from perwiz.errors import PerwizError
from perwiz.formats import files
from soundness import sound

LINES = """MPI_Init:-:1:2:1000000
MPI_Comm_size:1000010:94000000,{0},2:99:1000012
MPI_Comm_split:1000013:94000000,{0},2:0:0:3000:1000014
MPI_Barrier:1000015:95000000,{0},2:1000016
MPI_Comm_free:1000017:3000:1000018
MPI_Isend:1000020:5:4:2,4,4:{1}:7:94000000,{0},2:800:1000022
MPI_Irecv:1000030:5:4:2,4,4:-1:-1:94000000,{0},2:808:1000032
MPI_Test:1000040:800:5:5:1000042
MPI_Waitall:1000050:2:800:9:1000052
MPI_Send_init:1000060:5:4:2,4,4:{1}:7:94000000,{0},2:816:1000062
MPI_Startall:1000070:1:816:1000072
MPI_Recv:1000080:5:4:2,4,4:{1}:7:94000000,{0},2:9:1000082
MPI_Waitany:1000090:1:816:5:6:1000092
MPI_Allgatherv:1000100:5:1:2,4,4:6:7:1,2:8:0,1:2,4,4:94000000,{0},2:1000102
MPI_Finalize:1000110:-
"""


@pytest.mark.slow
def test_read__damaged(tmp_path):
    """Whatever is changed in a file, it is read or refused in one line."""
    drawn, read, ties, said = random.Random(7), 0, 0, []
    for rank in range(2):
        text = "# htor's PMPI Tracer 1.0 Output File\n# hostname: n\n\n" + LINES.format(rank, 1 - rank)
        (tmp_path / f"pmpi-trace-rank-{rank}.txt").write_text(text)
    whole = text.encode()
    assert len(files.read(str(tmp_path)).messages) == 4
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(drawn.choice((1, 2, 8))):
            at = drawn.randrange(40, len(data) - 20)
            if drawn.random() < 0.3:
                del data[at : at + drawn.choice((1, 4, 90))]
            else:
                data[at : at + 1] = drawn.choice((b":", b",", b"\n", b"-", b".", b"\xff", b"\0", b"9" * drawn.choice((1, 12, 30))))
        (tmp_path / "pmpi-trace-rank-1.txt").write_bytes(data)
        try:
            trace = files.read(str(tmp_path))
        except PerwizError as error:
            said.append(str(error))
            continue
        sound(trace)
        read += len(trace.calls) > 15
        ties += len(trace.messages) > 0
    assert read > 72
    assert ties > 48
    assert not any("\n" in text for text in said)
