/* Messages in wrong order: rank 0 takes the results of the others in the order of their ranks; the last rank is ready first.

   wrong_order [after]    whichever is ready comes first */
#include "../study.h"

enum { STEPS = 20, WORK = 8000, TAKE = 5000, WORKERS = 3 };

int main(int argc, char **argv)
{
    double results[WORKERS][64] = {{0}};
    begin(&argc, &argv, WORKERS + 1);
    int after = given(argc, argv, "after");
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0)
            for (int k = 0; k < WORKERS; k++) {
                int from = after ? MPI_ANY_SOURCE : k + 1;
                MPI_Recv(results[k], 64, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                compute(TAKE);
            }
        else {
            compute((WORKERS + 1 - rank) * WORK);
            MPI_Send(results[0], 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
        MPI_Bcast(results, WORKERS * 64, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    finish();
}
