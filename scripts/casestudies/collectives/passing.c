/* passing: what a message takes, two that pass each other, and one whose bytes were written just before; of 512 bytes to 1 MiB.
 *
 * Each time behind a barrier and a sleep, from the last of two processes that begins to the last that is done; printed are medians, ns.
 *
 *   there      one message of bytes that nobody wrote since
 *   both       one each way at the same time, of such bytes
 *   written    one of bytes that its sender has just written
 *   back       one of the bytes that its sender has just received
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 300, SMALLEST = 512, LARGEST = 1 << 20, KINDS = 4 };
enum { THERE, BOTH, WRITTEN, BACK };

static double begun[2][TIMES], done[2][TIMES];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

static double later(double a, double b) { return a > b ? a : b; }

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pass(int from, int rank, char *out, char *in, int bytes)
{
    if (rank == from)
        MPI_Send(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void once(int kind, int rank, char *kept, char *used, int bytes, int k)
{
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(20);
    if (kind == WRITTEN && rank == 1)
        memset(used, k, bytes);
    if (kind == BACK)
        pass(0, rank, kept, used, bytes);
    begun[rank][k] = now();
    if (kind == BOTH)
        MPI_Sendrecv(kept, bytes, MPI_BYTE, 1 - rank, 0, used, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        pass(1, rank, kind == THERE ? kept : used, used, bytes);
    done[rank][k] = now();
}

static double median(void)
{
    double took[TIMES];
    for (int k = 0; k < TIMES; k++)
        took[k] = later(done[0][k], done[1][k]) - later(begun[0][k], begun[1][k]);
    qsort(took, TIMES, sizeof *took, by_size);
    return took[TIMES / 2];
}

int main(int argc, char **argv)
{
    int rank;
    cpu_set_t own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CPU_ZERO(&own);
    CPU_SET(rank, &own);
    sched_setaffinity(0, sizeof own, &own);
    char *kept = malloc(LARGEST), *used = malloc(LARGEST);
    memset(kept, 1, LARGEST);
    memset(used, 1, LARGEST);
    if (rank == 0)
        printf("%10s %10s %10s %10s %10s\n", "bytes", "there", "both", "written", "back");
    for (int bytes = SMALLEST; bytes <= LARGEST; bytes *= 2) {
        double took[KINDS];
        for (int kind = 0; kind < KINDS; kind++) {
            for (int k = 0; k < TIMES; k++)
                once(kind, rank, kept, used, bytes, k);
            MPI_Bcast(begun[1], TIMES, MPI_DOUBLE, 1, MPI_COMM_WORLD);
            MPI_Bcast(done[1], TIMES, MPI_DOUBLE, 1, MPI_COMM_WORLD);
            took[kind] = median();
        }
        if (rank == 0)
            printf("%10d %10.0f %10.0f %10.0f %10.0f\n", bytes, took[THERE], took[BOTH], took[WRITTEN], took[BACK]);
    }
    MPI_Finalize();
    return 0;
}
