/* A loop in two halves: the iterations of the second take three times as long, and the first thread waits for the second one.

   schedule [dynamic]    a thread that has nothing to do takes the next iteration */
#include "../study.h"

enum { STEPS = 10, ITERATIONS = 24, SHORT = 1000, LONG = 3000 };

static void half(int k) { compute(k < ITERATIONS / 2 ? SHORT : LONG); }

int main(int argc, char **argv)
{
    double mine[64] = {0}, others[64];
    begin(&argc, &argv, 0);
    int dynamic = given(argc, argv, "dynamic"), right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int step = 0; step < STEPS; step++) {
        if (dynamic) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(2)
            for (int k = 0; k < ITERATIONS; k++)
                half(k);
        } else {
#pragma omp parallel for schedule(static) num_threads(2)
            for (int k = 0; k < ITERATIONS; k++)
                half(k);
        }
        MPI_Sendrecv(mine, 64, MPI_DOUBLE, right, 0, others, 64, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    finish();
}
