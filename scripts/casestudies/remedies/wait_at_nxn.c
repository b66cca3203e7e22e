/* Wait at N x N: in every step all wait for the slowest, each time another one, to learn whether they may stop.

   wait_at_nxn [after]    they ask in every fourth step only */
#include "../study.h"

enum { STEPS = 40, SHORT = 10000, LONG = 20000 };

int main(int argc, char **argv)
{
    double error = 1, largest;
    begin(&argc, &argv, 4);
    int every = given(argc, argv, "after") ? 4 : 1;
    for (int step = 0; step < STEPS; step++) {
        compute(step % size == rank ? LONG : SHORT);
        if (step % every == every - 1)
            MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    finish();
}
