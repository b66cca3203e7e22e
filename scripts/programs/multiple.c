/* MPI calls of all threads: multiple [serialized]. Each of two threads sends, receives and waits with its partner of the other process, and
   takes part in collectives of a communicator of its own. Serialized: one at a time, all with one tag on one communicator, so that the order
   of the calls tells which message is whose; sizes differ. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 5, MOST = 64 };

static int serialized;
static omp_lock_t turn;

static void begin(void)
{
    if (serialized)
        omp_set_lock(&turn);
}

static void end(void)
{
    if (serialized)
        omp_unset_lock(&turn);
}

/* Post a receive and a send, compute, and wait for both: serialized by tests, so that nobody holds the turn while it waits. */
static void exchange(int partner, int thread, int round, MPI_Comm comm)
{
    int out[MOST] = {0}, in[MOST], done = 0, tag = serialized ? 7 : thread;
    MPI_Request requests[2];
    begin();
    MPI_Irecv(in, MOST, MPI_INT, partner, tag, comm, &requests[0]);
    MPI_Isend(out, 1 + THREADS * round + thread, MPI_INT, partner, tag, comm, &requests[1]);
    end();
    usleep(500);
    if (!serialized)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    while (serialized && !done) {
        begin();
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        end();
        usleep(100);
    }
}

int main(int argc, char **argv)
{
    int provided, rank, size, sum[THREADS] = {0};
    MPI_Comm own[THREADS];
    serialized = argc > 1 && !strcmp(argv[1], "serialized");
    MPI_Init_thread(&argc, &argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    omp_init_lock(&turn);
    for (int k = 0; k < THREADS; k++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[k]);
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num(), partner = rank ^ 1;
        for (int round = 0; round < ROUNDS; round++) {
            exchange(partner, me, round, own[serialized ? 0 : (me + round) % THREADS]);
            if (!serialized)
                MPI_Allreduce(MPI_IN_PLACE, &sum[me], 1, MPI_INT, MPI_SUM, own[me]);
            sum[me]++;
            if (!serialized && me == 1) {
                MPI_Send(&round, 1, MPI_INT, partner == rank + 1 ? partner : MPI_PROC_NULL, 9, MPI_COMM_WORLD);
                MPI_Recv(&round, 1, MPI_INT, partner == rank - 1 ? partner : MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        if (serialized) { /* collectives one after the other, in the same order everywhere */
#pragma omp barrier
            for (int k = 0; k < THREADS; k++) {
                if (k == me)
                    MPI_Bcast(&sum[k], 1, MPI_INT, 0, own[0]);
#pragma omp barrier
            }
        }
#pragma omp master
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int k = 0; k < THREADS; k++)
        MPI_Comm_free(&own[k]);
    if (rank == 0)
        printf("sums %d %d\n", sum[0], sum[1]);
    MPI_Finalize();
    return 0;
}
