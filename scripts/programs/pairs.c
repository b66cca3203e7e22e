/* Short messages between varying pairs of processes, half of them on each of two metahosts: `pairs ROUNDS` (Becker et al. 2007, section 5).
   All run on one machine: a message waits until the time has passed that it would take at least. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { ROUND = 6000000, NEAR = 500000, FAR = 5000000 }; /* ns */

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wait_until(long long time)
{
    if (now() < time)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){time / 1000000000, time % 1000000000}, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, unit, rounds = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Win window;
    MPI_Aint bytes;
    volatile long long *mine, *sent; /* when a process sent the message of each round */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate_shared(rounds * (MPI_Aint)sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    for (int k = 0; k < rounds; k++)
        mine[k] = 0;
    long long begin = now();
    MPI_Bcast(&begin, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < rounds; k++) { /* all sums of two ranks occur, and each pair in both directions */
        int peer = ((k - rank) % size + size) % size, sends = (rank < peer) ^ (k / size % 2);
        long long start = begin + (k + 1LL) * ROUND, least = (rank < size / 2) == (peer < size / 2) ? NEAR : FAR;
        if (peer == rank)
            continue;
        wait_until(start);
        if (sends) {
            mine[k] = now();
            MPI_Send(&rank, 1, MPI_INT, peer, k, MPI_COMM_WORLD);
        }
        else {
            MPI_Win_shared_query(window, peer, &bytes, &unit, &sent);
            while (!sent[k])
                wait_until(now() + 100000);
            wait_until(sent[k] + least);
            MPI_Recv(&peer, 1, MPI_INT, peer, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
