/* A loop that is done by two threads. Before it, teams of two to four do a little, as those of libraries do.

   teams [4]    four threads do it */
#include "../study.h"

enum { STEPS = 10, ITERATIONS = 8, SHORT = 5000, LITTLE = 2000, TIMES = 8 };

static void library(int threads)
{
#pragma omp parallel num_threads(threads)
    compute(LITTLE);
}

static void loop(int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < ITERATIONS; k++)
        compute(SHORT);
}

int main(int argc, char **argv)
{
    double mine = 0, others;
    begin(&argc, &argv, 0);
    int threads = given(argc, argv, "4") ? 4 : 2, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int of = 2; of <= 4; of++)
        for (int k = 0; k < TIMES; k++)
            library(of);
    for (int step = 0; step < STEPS; step++) {
        loop(threads);
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, 0, &others, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    finish();
}
