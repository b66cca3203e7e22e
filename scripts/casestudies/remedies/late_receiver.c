/* Late receiver: rank 0 stands still in a send of a long message until rank 1 has computed.

   late_receiver [after]    the send does not block; the buffer is free again when the next step needs it */
#include "../study.h"

enum { STEPS = 20, MAKE = 5000, GO_ON = 20000, BEFORE = 20000, BYTES = 1 << 18 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2);
    int after = given(argc, argv, "after");
    char *block = message(BYTES);
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0) {
            MPI_Request request = MPI_REQUEST_NULL;
            compute(MAKE);
            if (after)
                MPI_Isend(block, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
            else
                MPI_Send(block, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            compute(GO_ON);
            if (after)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            compute(BEFORE);
            MPI_Recv(block, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    finish();
}
