/* How real programs use MPI, in small: workloads NAME. Every process counts what it calls and prints, per routine,
       tally RANK ROUTINE CALLS BYTES_SENT BYTES_RECEIVED
   to hold against what a recorder says. DO(routine, sent, received, arguments) counts a call and makes it. */
#include <mpi.h>
#include <perwiz.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, BLOCK = 4096 };
#define WORLD MPI_COMM_WORLD
#define INT (long)sizeof(int)

static struct {
    const char *name;
    long calls, sent, received;
} tallies[MOST];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int rank, size;

static void add(const char *name, long calls, long sent, long received)
{
    pthread_mutex_lock(&counting);
    int k = 0;
    while (tallies[k].name && strcmp(tallies[k].name, name))
        k++;
    tallies[k].name = name;
    tallies[k].calls += calls;
    tallies[k].sent += sent;
    tallies[k].received += received;
    pthread_mutex_unlock(&counting);
}

static void tally(const char *name, long sent, long received) { add(name, 1, sent, received); }

/* Bytes of a call that was counted before they were known. */
static void more(const char *name, long sent, long received) { add(name, 0, sent, received); }

#define DO(routine, sent, received, ...) (tally(#routine, sent, received), routine(__VA_ARGS__))

static void work(long microseconds)
{
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

static long got(MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes;
}

/* A ring of two dimensions: persistent requests to four neighbours, some of them nobody at the edge. */
static void halo(void)
{
    int sizes[2] = {0, 0}, periods[2] = {1, 0}, peers[4], in[4][100], out[4][100];
    long bytes = 100 * INT, sends = 0;
    MPI_Comm grid;
    MPI_Request requests[8];
    MPI_Dims_create(size, 2, sizes);
    DO(MPI_Cart_create, 0, 0, WORLD, 2, sizes, periods, 0, &grid);
    memset(out, 0, sizeof out);
    for (int d = 0; d < 2; d++)
        MPI_Cart_shift(grid, d, 1, &peers[2 * d], &peers[2 * d + 1]);
    for (int k = 0; k < 4; k++) {
        DO(MPI_Recv_init, 0, 0, in[k], 100, MPI_INT, peers[k], k ^ 1, grid, &requests[k]);
        if (k == 3)
            DO(MPI_Ssend_init, 0, 0, out[k], 100, MPI_INT, peers[k], k, grid, &requests[4 + k]);
        else
            DO(MPI_Send_init, 0, 0, out[k], 100, MPI_INT, peers[k], k, grid, &requests[4 + k]);
        sends += peers[k] != MPI_PROC_NULL;
    }
    for (int step = 0; step < 5; step++) {
        PRGN_BEGIN("step");
        DO(MPI_Startall, sends * bytes, 0, 8, requests);
        work(200);
        DO(MPI_Waitall, 0, sends * bytes, 8, requests, MPI_STATUSES_IGNORE);
        PRGN_END;
    }
    DO(MPI_Start, 0, 0, &requests[0]);
    DO(MPI_Start, peers[1] == MPI_PROC_NULL ? 0 : bytes, 0, &requests[5]);
    DO(MPI_Wait, 0, 0, &requests[5], MPI_STATUS_IGNORE);
    DO(MPI_Wait, 0, peers[0] == MPI_PROC_NULL ? 0 : bytes, &requests[0], MPI_STATUS_IGNORE);
    for (int k = 0; k < 8; k++)
        DO(MPI_Request_free, 0, 0, &requests[k]);
    DO(MPI_Comm_free, 0, 0, &grid);
}

/* Work given out to whoever asks; wildcards and messages of unknown size. */
static void farm(void)
{
    enum { ASK = 1, GIVE = 2, STOP = 3, JOBS = 30 };
    char job[BLOCK] = "";
    MPI_Status status;
    int ask = rank;
    if (rank == 0) {
        for (int k = 0; k < JOBS + size - 1; k++) {
            int length = k < JOBS ? 1 + 97 * k : 0;
            DO(MPI_Recv, 0, INT, &ask, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
            DO(MPI_Send, length, 0, job, length, MPI_CHAR, status.MPI_SOURCE, k < JOBS ? GIVE : STOP, WORLD);
        }
        return;
    }
    do {
        DO(MPI_Send, INT, 0, &ask, 1, MPI_INT, 0, ASK, WORLD);
        DO(MPI_Probe, 0, 0, 0, MPI_ANY_TAG, WORLD, &status);
        DO(MPI_Recv, 0, got(&status), job, BLOCK, MPI_CHAR, 0, status.MPI_TAG, WORLD, MPI_STATUS_IGNORE);
        work(50 + 20 * rank);
    } while (status.MPI_TAG == GIVE);
}

/* Communicators from communicators, and collectives in each. */
static void groups(void)
{
    int value = rank, sum, split = rank % 2, count = 0, *list = malloc((size_t)size * sizeof *list);
    MPI_Comm half, twin, some, few, both, all;
    MPI_Group every, group;
    DO(MPI_Comm_split, 0, 0, WORLD, split, -rank, &half);
    DO(MPI_Comm_set_name, 0, 0, half, split ? "odd ranks" : "even ranks");
    DO(MPI_Allreduce, INT, INT, &value, &sum, 1, MPI_INT, MPI_SUM, half);
    DO(MPI_Comm_dup, 0, 0, half, &twin);
    DO(MPI_Reduce, INT, 0, &value, &sum, 1, MPI_INT, MPI_SUM, 0, twin);
    int place, halves;
    MPI_Comm_rank(twin, &place);
    MPI_Comm_size(twin, &halves);
    if (place == 0)
        more("MPI_Reduce", 0, INT);
    for (int k = 0; k < size; k += 2)
        list[count++] = k;
    MPI_Comm_group(WORLD, &every);
    MPI_Group_incl(every, count, list, &group);
    DO(MPI_Comm_create, 0, 0, WORLD, group, &some);
    if (some != MPI_COMM_NULL) {
        DO(MPI_Bcast, rank ? 0 : INT, rank ? INT : 0, &value, 1, MPI_INT, 0, some);
        DO(MPI_Comm_create_group, 0, 0, WORLD, group, 7, &few);
        DO(MPI_Barrier, 0, 0, few);
        DO(MPI_Comm_free, 0, 0, &few);
        DO(MPI_Comm_free, 0, 0, &some);
    }
    if (size > 1) {
        DO(MPI_Intercomm_create, 0, 0, half, 0, WORLD, split ? (size - 1) / 2 * 2 : (size - 2) / 2 * 2 + 1, 9, &both);
        int others;
        MPI_Comm_remote_size(both, &others);
        if (place < others)
            DO(MPI_Sendrecv, INT, INT, &rank, 1, MPI_INT, place, 5, &value, 1, MPI_INT, place, 5, both, MPI_STATUS_IGNORE);
        DO(MPI_Barrier, 0, 0, both);
        DO(MPI_Intercomm_merge, 0, 0, both, split, &all);
        DO(MPI_Allreduce, INT, INT, &value, &sum, 1, MPI_INT, MPI_SUM, all);
        DO(MPI_Comm_free, 0, 0, &all);
        DO(MPI_Comm_free, 0, 0, &both);
    }
    DO(MPI_Comm_free, 0, 0, &twin);
    DO(MPI_Comm_free, 0, 0, &half);
    MPI_Group_free(&every);
    MPI_Group_free(&group);
    free(list);
}

/* Collectives to and from everybody, with unequal sizes. Rank r gives r + 1 numbers to everybody. */
static void uneven(void)
{
    int *counts = malloc(6 * (size_t)size * sizeof *counts), *places = counts + size, *mine = places + size, *from = mine + size;
    int *bytes = from + size, total = 0, own = rank + 1;
    int *out = calloc(BLOCK, sizeof *out), *in = calloc(BLOCK, sizeof *in);
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    for (int k = 0; k < size; k++) {
        counts[k] = k + 1;
        places[k] = total;
        total += counts[k];
        mine[k] = own;
        from[k] = own * k;
        bytes[k] = INT * places[k];
        types[k] = MPI_INT;
    }
    long all = total * INT, part = own * INT;
    DO(MPI_Alltoallv, part * size, all, out, mine, from, MPI_INT, in, counts, places, MPI_INT, WORLD);
    for (int k = 0; k < size; k++)
        from[k] *= INT;
    DO(MPI_Alltoallw, part * size, all, out, mine, from, types, in, counts, bytes, types, WORLD);
    DO(MPI_Gatherv, part, rank ? 0 : all, out, own, MPI_INT, in, counts, places, MPI_INT, 0, WORLD);
    DO(MPI_Scatterv, rank ? 0 : all, part, out, counts, places, MPI_INT, in, own, MPI_INT, 0, WORLD);
    DO(MPI_Allgatherv, part, all, out, own, MPI_INT, in, counts, places, MPI_INT, WORLD);
    DO(MPI_Allgather, INT, INT * size, out, 1, MPI_INT, in, 1, MPI_INT, WORLD);
    DO(MPI_Allgather, INT, INT * size, MPI_IN_PLACE, 0, MPI_INT, in, 1, MPI_INT, WORLD);
    DO(MPI_Alltoall, INT * size, INT * size, out, 1, MPI_INT, in, 1, MPI_INT, WORLD);
    DO(MPI_Gather, INT, rank == size - 1 ? INT * size : 0, out, 1, MPI_INT, in, 1, MPI_INT, size - 1, WORLD);
    DO(MPI_Scatter, rank ? 0 : INT * size, INT, out, 1, MPI_INT, in, 1, MPI_INT, 0, WORLD);
    DO(MPI_Reduce_scatter, all, part, out, in, counts, MPI_INT, MPI_SUM, WORLD);
    DO(MPI_Reduce_scatter_block, INT * size, INT, out, in, 1, MPI_INT, MPI_SUM, WORLD);
    DO(MPI_Scan, INT, INT, out, in, 1, MPI_INT, MPI_SUM, WORLD);
    DO(MPI_Exscan, INT, INT, out, in, 1, MPI_INT, MPI_SUM, WORLD);
    free(counts);
    free(types);
    free(out);
    free(in);
}

/* Collectives that go on while the program computes, and those among neighbours on a ring. */
static void overlap(void)
{
    int value = rank, sum, left = (rank + size - 1) % size, right = (rank + 1) % size, flag = 0, pair[2], in[2], ends[2] = {left, right};
    MPI_Request requests[3];
    MPI_Comm ring, twin;
    for (int k = 0; k < 4; k++) {
        DO(MPI_Iallreduce, INT, INT, &value, &sum, 1, MPI_INT, MPI_SUM, WORLD, &requests[0]);
        DO(MPI_Ibcast, rank ? 0 : INT, rank ? INT : 0, &value, 1, MPI_INT, 0, WORLD, &requests[1]);
        DO(MPI_Ibarrier, 0, 0, WORLD, &requests[2]);
        work(100);
        DO(MPI_Waitall, 0, 0, 3, requests, MPI_STATUSES_IGNORE);
    }
    DO(MPI_Comm_idup, 0, 0, WORLD, &twin, &requests[0]);
    while (!flag)
        DO(MPI_Test, 0, 0, &requests[0], &flag, MPI_STATUS_IGNORE);
    DO(MPI_Dist_graph_create_adjacent, 0, 0, twin, 2, ends, MPI_UNWEIGHTED, 2, ends, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    DO(MPI_Neighbor_allgather, INT, 2 * INT, &value, 1, MPI_INT, in, 1, MPI_INT, ring);
    pair[0] = pair[1] = rank;
    DO(MPI_Ineighbor_alltoall, 2 * INT, 2 * INT, pair, 1, MPI_INT, in, 1, MPI_INT, ring, &requests[0]);
    DO(MPI_Wait, 0, 0, &requests[0], MPI_STATUS_IGNORE);
    DO(MPI_Comm_free, 0, 0, &ring);
    DO(MPI_Comm_free, 0, 0, &twin);
}

/* Probes, matched probes, cancelled receives, every kind of send and completion. Even ranks send to the next odd one. */
static void probes(void)
{
    enum { N = 6 };
    int peer = rank ^ 1, out[N] = {0}, in[N], flag = 0, index, count, indices[N], done = 0;
    char *buffer = malloc(BLOCK);
    MPI_Request requests[N];
    MPI_Status status, statuses[N];
    MPI_Message message;
    if (peer >= size)
        return;
    DO(MPI_Irecv, 0, 0, in, 1, MPI_INT, peer, 99, WORLD, &requests[0]);
    DO(MPI_Cancel, 0, 0, &requests[0]);
    DO(MPI_Wait, 0, 0, &requests[0], &status);
    DO(MPI_Sendrecv, INT, INT, out, 1, MPI_INT, peer, 4, in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    DO(MPI_Sendrecv_replace, INT, INT, out, 1, MPI_INT, peer, 4, peer, 4, WORLD, MPI_STATUS_IGNORE);
    DO(MPI_Send, 0, 0, out, 1, MPI_INT, MPI_PROC_NULL, 4, WORLD);
    if (rank % 2 == 0) {
        MPI_Buffer_attach(buffer, BLOCK);
        DO(MPI_Ssend, INT, 0, out, 1, MPI_INT, peer, 10, WORLD);
        DO(MPI_Bsend, INT, 0, out, 1, MPI_INT, peer, 11, WORLD);
        DO(MPI_Send, 2 * INT, 0, out, 2, MPI_INT, peer, 12, WORLD);
        DO(MPI_Send, 3 * INT, 0, out, 3, MPI_INT, peer, 13, WORLD);
        for (int round = 0; round < 5; round++) {
            for (int k = 0; k < N; k++)
                if (k == 0)
                    DO(MPI_Issend, INT, 0, out, 1, MPI_INT, peer, 20 + round, WORLD, &requests[k]);
                else
                    DO(MPI_Isend, INT, 0, out, 1, MPI_INT, peer, 20 + round, WORLD, &requests[k]);
            DO(MPI_Waitall, 0, 0, N, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Buffer_detach(&buffer, &count);
        free(buffer);
        return;
    }
    DO(MPI_Recv, 0, INT, in, 1, MPI_INT, peer, 10, WORLD, &status);
    DO(MPI_Recv, 0, INT, in, N, MPI_INT, MPI_ANY_SOURCE, 11, WORLD, MPI_STATUS_IGNORE);
    DO(MPI_Mprobe, 0, 0, peer, 12, WORLD, &message, &status);
    DO(MPI_Mrecv, 0, got(&status), in, N, MPI_INT, &message, MPI_STATUS_IGNORE);
    while (!flag)
        DO(MPI_Improbe, 0, 0, MPI_ANY_SOURCE, 13, WORLD, &flag, &message, &status);
    DO(MPI_Imrecv, 0, 0, in, N, MPI_INT, &message, &requests[0]);
    DO(MPI_Wait, 0, got(&status), &requests[0], MPI_STATUS_IGNORE);
    flag = 0;
    while (!flag)
        DO(MPI_Iprobe, 0, 0, peer, 20, WORLD, &flag, MPI_STATUS_IGNORE);
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < N; k++)
            DO(MPI_Irecv, 0, 0, &in[k], 1, MPI_INT, k % 2 ? peer : MPI_ANY_SOURCE, 20 + round, WORLD, &requests[k]);
        for (done = 0; round < 2 && done < N; done++)
            if (round == 0)
                DO(MPI_Waitany, 0, INT, N, requests, &index, &status);
            else
                for (flag = 0; !flag;) {
                    tally("MPI_Testany", 0, 0);
                    MPI_Testany(N, requests, &index, &flag, MPI_STATUS_IGNORE);
                    if (flag)
                        more("MPI_Testany", 0, INT);
                }
        for (done = 0; round == 2 && done < N; done += count) {
            DO(MPI_Waitsome, 0, 0, N, requests, &count, indices, statuses);
            more("MPI_Waitsome", 0, count * INT);
        }
        for (done = 0; round == 3 && done < N; done += count) {
            DO(MPI_Testsome, 0, 0, N, requests, &count, indices, MPI_STATUSES_IGNORE);
            more("MPI_Testsome", 0, count * INT);
        }
        for (flag = 0; round == 4 && !flag;) {
            DO(MPI_Testall, 0, 0, N, requests, &flag, statuses);
            if (flag)
                more("MPI_Testall", 0, N * INT);
        }
    }
    free(buffer);
}

/* Windows, and operations on them. */
static void onesided(void)
{
    int shared[4] = {0}, mine[4] = {1, 2, 3, 4}, old = 0, right = (rank + 1) % size;
    MPI_Win window;
    DO(MPI_Win_create, 0, 0, shared, sizeof shared, sizeof(int), MPI_INFO_NULL, WORLD, &window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Put, 2 * INT, 0, mine, 2, MPI_INT, right, 0, 2, MPI_INT, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Get, 0, INT, mine, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Win_lock, 0, 0, MPI_LOCK_EXCLUSIVE, right, 0, window);
    DO(MPI_Accumulate, INT, 0, mine, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, window);
    DO(MPI_Win_unlock, 0, 0, right, window);
    DO(MPI_Win_lock_all, 0, 0, 0, window);
    DO(MPI_Fetch_and_op, INT, INT, mine, &old, MPI_INT, right, 3, MPI_SUM, window);
    DO(MPI_Win_flush, 0, 0, right, window);
    DO(MPI_Win_unlock_all, 0, 0, window);
    DO(MPI_Win_free, 0, 0, &window);
}

/* Threads that send and receive at the same time, each on a communicator of its own. */
static void *thread(void *own)
{
    MPI_Comm comm = *(MPI_Comm *)own;
    int out = rank, in, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    for (int k = 0; k < 20; k++) {
        DO(MPI_Irecv, 0, 0, &in, 1, MPI_INT, left, k, comm, &requests[0]);
        DO(MPI_Isend, INT, 0, &out, 1, MPI_INT, right, k, comm, &requests[1]);
        DO(MPI_Waitall, 0, INT, 2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    enum { N = 3 };
    MPI_Comm comms[N];
    pthread_t started[N];
    for (int k = 0; k < N; k++)
        DO(MPI_Comm_dup, 0, 0, WORLD, &comms[k]);
    for (int k = 0; k < N; k++)
        pthread_create(&started[k], NULL, thread, &comms[k]);
    for (int k = 0; k < N; k++)
        pthread_join(started[k], NULL);
    for (int k = 0; k < N; k++)
        DO(MPI_Comm_free, 0, 0, &comms[k]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"halo", halo},       {"farm", farm},     {"groups", groups},     {"uneven", uneven},
               {"overlap", overlap}, {"probes", probes}, {"onesided", onesided}, {"threads", threads}};
    const char *name = argc > 1 ? argv[1] : "halo";
    int provided;
    if (!strcmp(name, "threads"))
        DO(MPI_Init_thread, 0, 0, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        DO(MPI_Init, 0, 0, &argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    PERWIZ_BEGIN(name);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!strcmp(name, all[k].name))
            all[k].run();
    PERWIZ_END;
    DO(MPI_Barrier, 0, 0, WORLD);
    DO(MPI_Finalize, 0, 0);
    for (int k = 0; tallies[k].name; k++)
        printf("tally %d %s %ld %ld %ld\n", rank, tallies[k].name, tallies[k].calls, tallies[k].sent, tallies[k].received);
    return 0;
}
