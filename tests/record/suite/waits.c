/* Waits of one-sided communication, of 60 ms each, between ranks 0 and 1 on the memory of one of them; rank 2 waits in a barrier meanwhile. */
#include <mpi.h>
#include <string.h>

static int rank, one = 1;
static MPI_Win win;

static void compute(void)
{
    for (double end = PMPI_Wtime() + 0.06; PMPI_Wtime() < end;)
        ;
}

/* Rank `from` tells rank `to` that it is so far. */
static void tell(int from, int to)
{
    if (rank == from)
        MPI_Send(&one, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    if (rank == to)
        MPI_Recv(&one, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 accesses rank 1, which posts late; or completes late itself. */
static void active(int late)
{
    int other = 1 - rank;
    MPI_Group all, partner;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &partner);
    tell(0, 1);
    if (rank == 0) {
        MPI_Win_start(partner, 0, win);
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        if (!late)
            compute();
        MPI_Win_complete(win);
    } else {
        if (late)
            compute();
        MPI_Win_post(partner, 0, win);
        MPI_Win_wait(win);
    }
    MPI_Group_free(&partner);
    MPI_Group_free(&all);
}

/* Rank 0 has the lock of rank 2 while rank 1 asks for it. */
static void contended(void)
{
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Put(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        MPI_Win_flush(2, win);
    }
    tell(0, 1);
    if (rank == 0) {
        compute();
        MPI_Win_unlock(2, win);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
        MPI_Get(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        MPI_Win_unlock(2, win);
    }
}

/* Rank 0 gets from rank 1, which computes. */
static void unhelped(void)
{
    tell(1, 0);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Get(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    } else {
        compute();
    }
}

int main(int count, char **words)
{
    int *base;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2 && !strcmp(words[1], "lock"))
        contended();
    else if (rank < 2 && !strcmp(words[1], "progress"))
        unhelped();
    else if (rank < 2)
        active(!strcmp(words[1], "post"));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
