/* What recording costs a call: overhead [ROUNDS]. Prints nanoseconds per call; run it with and without recorder, on 1 process. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void row(const char *what, double seconds, long calls) { printf("%-28s %7.1f ns\n", what, seconds / (double)calls * 1e9); }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long rounds = argc > 1 ? atol(argv[1]) : 1000000;
    MPI_Comm self = MPI_COMM_SELF, world = MPI_COMM_WORLD;
    MPI_Request requests[2];
    MPI_Status status;
    int in = 0, out = 1, flag;
    double from = MPI_Wtime();
    for (long k = 0; k < rounds; k++)
        MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 0, world);
    row("Send to nobody", MPI_Wtime() - from, rounds);
    from = MPI_Wtime();
    for (long k = 0; k < rounds; k++)
        MPI_Iprobe(0, 0, self, &flag, &status);
    row("Iprobe", MPI_Wtime() - from, rounds);
    from = MPI_Wtime();
    for (long k = 0; k < rounds; k++)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, self, &status);
    row("Sendrecv with itself", MPI_Wtime() - from, rounds);
    from = MPI_Wtime();
    for (long k = 0; k < rounds; k++) {
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Send(&out, 1, MPI_INT, 0, 0, self);
        MPI_Wait(&requests[0], &status);
    }
    row("Irecv, Send, Wait (each)", MPI_Wtime() - from, 3 * rounds);
    from = MPI_Wtime();
    for (long k = 0; k < rounds; k++) {
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, 0, 0, self, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    row("Irecv, Isend, Waitall (each)", MPI_Wtime() - from, 3 * rounds);
    from = MPI_Wtime();
    for (long k = 0; k < rounds; k++)
        MPI_Barrier(self);
    row("Barrier of one", MPI_Wtime() - from, rounds);
    MPI_Finalize();
    return 0;
}
