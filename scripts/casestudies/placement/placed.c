/* placed halo|alltoall|transpose|gather|sum BYTES TIMES: a halo exchange over a grid of processes, all to all in messages between pairs, or
   MPI_Alltoall, MPI_Allgather and MPI_Allreduce, of so many bytes of each process for each, of each, and in all. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256 };

int main(int argc, char **argv)
{
    int rank, processes, partners = 0, to[MOST], bytes = argc > 2 ? atoi(argv[2]) : 65536, times = argc > 3 ? atoi(argv[3]) : 8;
    MPI_Request request[2 * MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (argc > 1 && !strcmp(argv[1], "halo")) {
        int width = 1;
        while (width * width < processes)
            width *= 2;
        int height = processes / width, x = rank % width, y = rank / width;
        to[partners++] = y * width + (x + 1) % width;
        to[partners++] = y * width + (x + width - 1) % width;
        to[partners++] = (y + 1) % height * width + x;
        to[partners++] = (y + height - 1) % height * width + x;
    } else {
        for (int k = 1; k < processes; k++)
            to[partners++] = (rank + k) % processes;
    }
    char *in = calloc(processes, bytes), *out = calloc(processes, bytes), *what = argc > 1 ? argv[1] : "";
    for (int step = 0; step < times; step++) {
        usleep(200 + 37 * ((rank * 7 + step * 3) % 5));
        if (!strcmp(what, "transpose"))
            MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (!strcmp(what, "gather"))
            MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (!strcmp(what, "sum"))
            MPI_Allreduce(out, in, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (strcmp(what, "halo") && strcmp(what, "alltoall"))
            continue;
        for (int k = 0; k < partners; k++)
            MPI_Irecv(in + (size_t)k * bytes, bytes, MPI_BYTE, to[k], MPI_ANY_TAG, MPI_COMM_WORLD, &request[k]);
        for (int k = 0; k < partners; k++)
            MPI_Isend(out + (size_t)k * bytes, bytes, MPI_BYTE, to[k], k, MPI_COMM_WORLD, &request[partners + k]);
        MPI_Waitall(2 * partners, request, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
