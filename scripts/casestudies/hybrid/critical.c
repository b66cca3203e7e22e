/* Threads add what they have found to one sum, each in a critical section, and wait for each other there.

   critical [reduction]    each has a sum of its own, and these are added when the loop ends */
#include "../study.h"

enum { STEPS = 10, ITERATIONS = 8, FIND = 2000, ADD = 3000 };

static double add(double to)
{
    compute(ADD);
    return to + 1;
}

int main(int argc, char **argv)
{
    double sum = 0, others;
    begin(&argc, &argv, 0);
    int reduction = given(argc, argv, "reduction"), right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int step = 0; step < STEPS; step++) {
        if (reduction) {
#pragma omp parallel for schedule(static) num_threads(2) reduction(+ : sum)
            for (int k = 0; k < ITERATIONS; k++) {
                compute(FIND);
                sum = add(sum);
            }
        } else {
#pragma omp parallel for schedule(static) num_threads(2)
            for (int k = 0; k < ITERATIONS; k++) {
                compute(FIND);
#pragma omp critical
                sum = add(sum);
            }
        }
        MPI_Sendrecv(&sum, 1, MPI_DOUBLE, right, 0, &others, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    finish();
}
