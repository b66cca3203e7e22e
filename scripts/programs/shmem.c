/* OpenSHMEM, with waits that are known: shmem waits; and one call of every shape: shmem all. With a third word MPI is there before. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SYNC = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE };
static long flag, count, lock, from[16], to[64], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 16], syncs[12][SYNC];
static int me, pes;

static void late(int pe)
{
    if (me == pe)
        usleep(100000);
}

/* PE 1 comes 100 ms late to a barrier, puts a flag so late, has a lock so long, and broadcasts and reduces so late. */
static void waits(void)
{
    shmem_barrier_all();
    late(1);
    shmem_barrier_all();
    late(1);
    if (me == 1)
        shmem_long_p(&flag, 1, 0);
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_long_wait_until(&count, SHMEM_CMP_EQ, 1);
    shmem_set_lock(&lock);
    if (me == 1)
        shmem_long_p(&count, 1, 0);
    late(1);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    late(1);
    shmem_broadcast64(to, from, 4, 1, 0, 0, pes, syncs[0]);
    shmem_barrier_all();
    late(1);
    shmem_long_sum_to_all(to, from, 2, 0, 0, pes, work, syncs[1]);
}

static void all(void)
{
    int other = 1 - me;
    char *heap = shmem_malloc(64);
    heap = shmem_realloc(heap, 128);
    shmem_long_put(to, from, 4, other);
    shmem_put32(to, from, 6, other);
    shmem_putmem_nbi(heap, from, 5, other);
    shmem_long_iput(to, from, 3, 1, 2, other);
    shmem_int_p((int *)to, 7, other);
    shmem_fence();
    shmem_double_get((double *)to, (double *)from, 3, other);
    shmem_getmem_nbi(to, from, 9, other);
    shmem_long_g(from, other);
    shmem_quiet();
    shmem_sync_all();
    shmem_long_atomic_add(&count, 2, other);
    shmem_long_wait_until(&count, SHMEM_CMP_GE, 2);
    shmem_long_atomic_fetch_inc(&count, other);
    while (!shmem_long_test(&count, SHMEM_CMP_GE, 3))
        ;
    shmem_long_atomic_fetch(&count, other);
    shmem_long_atomic_compare_swap(&count, 3, 4, other);
    while (shmem_test_lock(&lock))
        ;
    shmem_clear_lock(&lock);
    shmem_barrier(0, 0, 2, syncs[2]);
    if (me == 0)
        shmem_sync(0, 0, 1, syncs[3]);
    else
        shmem_sync(1, 0, 1, syncs[3]);
    shmem_collect64(to, from, 1 + me, 0, 0, 2, syncs[4]);
    shmem_fcollect32(to, from, 3, 0, 0, 2, syncs[5]);
    shmem_alltoall64(to, from, 2, 0, 0, 2, syncs[6]);
    shmem_barrier_all();
    shmem_int_max_to_all((int *)to, (int *)from, 3, 0, 0, 2, (int *)work, syncs[7]);
    shmem_free(heap);
}

int main(int words, char **word)
{
    for (long *one = &syncs[0][0]; one < &syncs[12][0]; one++)
        *one = SHMEM_SYNC_VALUE;
    if (words > 2)
        MPI_Init(NULL, NULL);
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (words > 1 && !strcmp(word[1], "all"))
        all();
    else
        waits();
    if (words > 2)
        MPI_Barrier(MPI_COMM_WORLD);
    shmem_finalize(); /* ends MPI, too */
    return 0;
}
