/* The eager limit: in each step rank 0 posts a message, computes a little and waits until it may use the buffer again, before it goes on.
   Rank 1 receives it late; before, it waits once for a word of rank 2, so that it is in a call and messages may move. A message above the
   eager limit holds rank 0 until its receive is posted; one below only until rank 1 waits for the word, or not at all.

   eager [bytes:N]    messages of N bytes */
#include "study.h"

enum { STEPS = 10, MAKE = 3000, OWN = 2000, GO_ON = 20000, FIRST = 6000, WORD = 10000, THEN = 12000 };

int main(int argc, char **argv)
{
    char word = 0;
    begin(&argc, &argv, 3);
    int bytes = message_bytes(argc, argv, 1 << 14);
    char *block = message(bytes);
    for (int step = 0; step < STEPS; step++) {
        PRGN_BEGIN("step");
        if (rank == 0) {
            MPI_Request request;
            compute(MAKE);
            MPI_Isend(block, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
            compute(OWN);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            compute(GO_ON);
        } else if (rank == 1) {
            compute(FIRST);
            MPI_Recv(&word, 1, MPI_CHAR, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(THEN);
            MPI_Recv(block, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            compute(WORD);
            MPI_Send(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        PRGN_END;
    }
    finish();
}
