/* Serialisation: every process needs what the one before it has computed, so one works while the others wait.

   serialisation [after]    in five pieces: the next begins with the first while this one computes the second */
#include "../study.h"

enum { STEPS = 20, SWEEP = 10000, PIECES = 5 };

int main(int argc, char **argv)
{
    double row[64] = {0};
    begin(&argc, &argv, 4);
    int pieces = given(argc, argv, "after") ? PIECES : 1;
    for (int step = 0; step < STEPS; step++) {
        for (int piece = 0; piece < pieces; piece++) {
            if (rank > 0)
                MPI_Recv(row, 64 / pieces, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(SWEEP / pieces);
            if (rank < size - 1)
                MPI_Send(row, 64 / pieces, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    finish();
}
