/* A program whose scaling is known: in each of the steps rank 0 alone prepares for 16 ms, then 128 ms of work are spread over all, of which
   the last process has a fifth more than its share and the others as much less; where there are several, each does 2 ms again that
   another does, too.

   scaling [slower:N]    the work, not what is prepared, takes N percent longer

   Of P > 1 processes a step takes 16 + 1.2 * 128 / P + 2 ms, and all together compute 144 + 2 P ms; alone 144 ms. */
#include "study.h"

enum { STEPS = 8, PREPARE = 16000, WORK = 128000, AGAIN = 2000 };

int main(int argc, char **argv)
{
    int slower = 0, plan = 0, sum = 0;
    begin(&argc, &argv, 0);
    for (int k = 1; k < argc; k++)
        sscanf(argv[k], "slower:%d", &slower);
    double share = (double)WORK / size, mine = share;
    if (size > 1)
        mine = rank == size - 1 ? 1.2 * share : share - 0.2 * share / (size - 1);
    for (int step = 0; step < STEPS; step++) {
        PERWIZ_BEGIN("prepare");
        if (rank == 0)
            compute(PREPARE);
        PERWIZ_END;
        MPI_Bcast(&plan, 1, MPI_INT, 0, MPI_COMM_WORLD);
        PERWIZ_BEGIN("work");
        compute((long)(mine * (100 + slower) / 100) + (size > 1 ? AGAIN : 0));
        PERWIZ_END;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    finish();
}
