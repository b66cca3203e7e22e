/* placed halo|alltoall BYTES TIMES: a halo exchange over a grid of processes, or all to all in messages between pairs. */
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
    char *in = calloc(partners, bytes), *out = calloc(partners, bytes);
    for (int step = 0; step < times; step++) {
        usleep(200 + 37 * ((rank * 7 + step * 3) % 5));
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
