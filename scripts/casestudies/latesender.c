/* Late senders: a ring of processes. In each step a process computes the inside of its part for its left neighbour, then the edge for its
   right one, and sends each when it is ready. The right neighbour needs the edge at once, the left one needs the inside much later. In every
   step another process takes longer for the inside, its neighbour waits for an edge that could have come before, and is late itself.

   latesender [early]    the edge is computed and sent before the inside */
#include "study.h"

enum { STEPS = 10, EDGE = 5000, INSIDE = 20000, LATE = 64000, JOIN = 45000 };

static double values[16];

static void inside(int step)
{
    PERWIZ_BEGIN("inside");
    compute(step % size == rank ? LATE : INSIDE);
    MPI_Send(values, 16, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD);
    PERWIZ_END;
}

static void edge(void)
{
    PERWIZ_BEGIN("edge");
    compute(EDGE);
    MPI_Send(values, 16, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD);
    PERWIZ_END;
}

int main(int argc, char **argv)
{
    double others[16];
    begin(&argc, &argv, 0);
    int early = given(argc, argv, "early");
    for (int step = 0; step < STEPS; step++) {
        PRGN_BEGIN("step");
        if (early)
            edge();
        inside(step);
        if (!early)
            edge();
        MPI_Recv(others, 16, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(JOIN);
        MPI_Recv(others, 16, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        PRGN_END;
    }
    finish();
}
