/* A ring with halos that are exchanged while the inside is computed: non-blocking, from both sides. One process is a straggler: it computes
   longer than the others, and its lateness spreads by one neighbour a step.

   halo [balanced]       every process computes the mean
   halo [fast]           the straggler computes 1.6 times as fast
   halo [uneven]         instead all compute longer in turn, those of even number and those of odd
   halo [bytes:N]        messages have N bytes, usually 128 */
#include "study.h"

enum { STEPS = 8, STRAGGLER = 5, INSIDE = 72000, OUTSIDE = 18000 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 0);
    int bytes = message_bytes(argc, argv, 128);
    char *in[2] = {message(bytes), message(bytes)}, *out[2] = {message(bytes), message(bytes)};
    int straggler = STRAGGLER % size, left = (rank + size - 1) % size, right = (rank + 1) % size;
    double times = rank == straggler ? 1.6 : 1;
    if (given(argc, argv, "balanced"))
        times = (size + 0.6) / size;
    if (given(argc, argv, "fast"))
        times = 1;
    int uneven = given(argc, argv, "uneven");
    for (int step = 0; step < STEPS; step++) {
        if (uneven)
            times = (step + rank) % 2 ? 1.6 : 1;
        MPI_Request requests[4];
        PRGN_BEGIN("step");
        MPI_Irecv(in[0], bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in[1], bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out[0], bytes, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(out[1], bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[3]);
        compute((long)(INSIDE * times));
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        compute((long)(OUTSIDE * times));
        PRGN_END;
    }
    finish();
}
