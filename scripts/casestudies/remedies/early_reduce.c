/* Early reduce: rank 0 enters the reduction long before the others, and has other work for later.

   early_reduce [after]    it does that work first */
#include "../study.h"

enum { STEPS = 20, ROOT = 5000, OTHERS = 20000, OUTPUT = 15000 };

int main(int argc, char **argv)
{
    double part = 1, sum = 0;
    begin(&argc, &argv, 4);
    int after = given(argc, argv, "after");
    for (int step = 0; step < STEPS; step++) {
        compute(rank == 0 ? ROOT : OTHERS);
        if (rank == 0 && after)
            compute(OUTPUT);
        MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && !after)
            compute(OUTPUT);
        MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    finish();
}
