/* Progress: rank 1 has posted its receive in time, but it computes outside of MPI, so nothing answers the sender of a long message.

   progress [after]    it calls MPI_Test while it computes */
#include "../study.h"

enum { STEPS = 20, MAKE = 2000, OWN = 20000, NEXT = 20000, BYTES = 1 << 18, TESTS = 20 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2);
    int tests = given(argc, argv, "after") ? TESTS : 1;
    char *block = message(BYTES);
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0) {
            compute(MAKE);
            MPI_Send(block, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            compute(NEXT);
        } else {
            MPI_Request request;
            int done;
            MPI_Irecv(block, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
            for (int k = 0; k < tests; k++) {
                compute(OWN / tests);
                if (tests > 1)
                    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    finish();
}
