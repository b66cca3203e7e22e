/* Who computes asks the process next to it for values that take a while, and its second thread is idle until they have come.

   overlap [beside]    the first thread asks while the other one computes, and joins it when the values have come

   Even processes compute, odd ones answer; values are needed in the next step only. */
#include "../study.h"

enum { STEPS = 10, ITERATIONS = 24, SHORT = 1000, ANSWER = 8000 };

static double asked[64], answer[64];

static void ask(void)
{
    MPI_Send(asked, 64, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Recv(answer, 64, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void reply(void)
{
    MPI_Recv(asked, 64, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(ANSWER);
    MPI_Send(answer, 64, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD);
}

static void behind(void)
{
    ask();
#pragma omp parallel for schedule(static) num_threads(2)
    for (int k = 0; k < ITERATIONS; k++)
        compute(SHORT);
}

static void beside(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        ask();
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < ITERATIONS; k++)
            compute(SHORT);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 0);
    int early = given(argc, argv, "beside");
    for (int step = 0; step < STEPS; step++) {
        if (rank % 2)
            reply();
        else if (early)
            beside();
        else
            behind();
    }
    finish();
}
