/* loop ROUTINE BYTES TIMES PINGS: messages to and fro between two processes, then so often a barrier and a collective of so many bytes. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 21 };

int main(int argc, char **argv)
{
    int rank, processes, bytes = argc > 2 ? atoi(argv[2]) : 8;
    int times = argc > 3 ? atoi(argv[3]) : 8, pings = argc > 4 ? atoi(argv[4]) : 1;
    const char *routine = argc > 1 ? argv[1] : "allreduce";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    char *in = calloc(bytes, processes + ROOM / bytes), *out = calloc(bytes, processes + ROOM / bytes);
    for (int k = 8; k <= 1 << 20; k *= 8)
        for (int one = 0; one < pings; one++) {
            if (rank < 2 && rank == one % 2)
                MPI_Send(in, k, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else if (rank < 2)
                MPI_Recv(in, k, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    for (int k = 0; k < times; k++) {
        if (strcmp(routine, "barrier"))
            MPI_Barrier(MPI_COMM_WORLD);
        usleep(20);
        if (!strcmp(routine, "allreduce"))
            MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else if (!strcmp(routine, "bcast"))
            MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (!strcmp(routine, "reduce"))
            MPI_Reduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (!strcmp(routine, "allgather"))
            MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
        else if (!strcmp(routine, "alltoall"))
            MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
