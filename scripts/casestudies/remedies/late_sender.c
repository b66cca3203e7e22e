/* Late sender: rank 1 waits for an edge that rank 0 computes after work that nobody waits for.

   late_sender [after]    the edge is computed and sent first */
#include "../study.h"

enum { STEPS = 20, EDGE = 1000, INSIDE = 24000, ANSWER = 25000 };

static double edge[64], answer[64];

static void send_edge(void)
{
    compute(EDGE);
    MPI_Send(edge, 64, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2);
    int after = given(argc, argv, "after");
    for (int step = 0; step < STEPS; step++)
        if (rank == 0) {
            if (after)
                send_edge();
            compute(INSIDE);
            if (!after)
                send_edge();
            MPI_Recv(answer, 64, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(edge, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(ANSWER);
            MPI_Send(answer, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    finish();
}
