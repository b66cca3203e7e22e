/* Imbalance: rank 2 has twice the work of the others, and all wait for it in the exchange with their neighbours.

   imbalance [after]    all have the same */
#include "../study.h"

enum { STEPS = 50, LESS = 6000, MORE = 12000 };

int main(int argc, char **argv)
{
    double mine[64] = {0}, others[64];
    begin(&argc, &argv, 4);
    int work = given(argc, argv, "after") ? (MORE + 3 * LESS) / 4 : rank == 2 ? MORE : LESS;
    for (int step = 0; step < STEPS; step++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Request sent[2];
        compute(work);
        MPI_Isend(mine, 64, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &sent[0]);
        MPI_Isend(mine, 64, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &sent[1]);
        MPI_Recv(others, 64, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(others, 64, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    }
    finish();
}
