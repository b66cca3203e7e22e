/* Transfer: thousands of messages of a few bytes, each with its own latency and overhead.

   transfer [after]    they are packed into one */
#include "../study.h"

enum { STEPS = 20, WORK = 2000, VALUES = 4000 };

int main(int argc, char **argv)
{
    static double values[VALUES];
    begin(&argc, &argv, 2);
    int once = given(argc, argv, "after") ? VALUES : 1;
    for (int step = 0; step < STEPS; step++) {
        compute(WORK);
        for (int k = 0; k < VALUES; k += once)
            if (rank == 0) {
                MPI_Send(values + k, once, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(values + k, once, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(values + k, once, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(values + k, once, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
            }
    }
    finish();
}
