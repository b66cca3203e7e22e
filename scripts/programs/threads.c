/* Two threads a process, everything OpenMP makes them wait for, in known numbers: see tests/record/test_openmp.py. Work is a sleep.
   threads [talk | kill]: threads send to those of the next process; the first process is killed in a team. */
#include <mpi.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

int main(int argc, char **argv)
{
    int provided, rank, size, sum = 0, word = argc > 1 ? argv[1][0] : 0;
    omp_lock_t lock;
    MPI_Init_thread(&argc, &argv, word == 't' ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    { /* a loop that is not balanced: 4 and 12 ms, then each 2 ms in a critical section */
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 4; k++)
            compute(k % 2 ? 6 : 2);
#pragma omp critical
        {
            sum++;
            compute(2);
        }
#pragma omp barrier
        omp_set_lock(&lock);
        compute(1);
        omp_unset_lock(&lock);
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    { /* three tasks, waited for, and two in a group */
        for (int k = 0; k < 3; k++)
#pragma omp task
            compute(2);
#pragma omp taskwait
#pragma omp taskgroup
        for (int k = 0; k < 2; k++)
#pragma omp task
            compute(1);
    }
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
    for (int k = 0; k < 4; k++)
#pragma omp ordered
        compute(1);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num(), came, to = (rank + 1) % size, from = (rank + size - 1) % size;
        if (word == 't')
            MPI_Sendrecv(&me, 1, MPI_INT, to, me, &came, 1, MPI_INT, from, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (word == 'k' && rank == 0 && me == 1)
            kill(getpid(), SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    omp_destroy_lock(&lock);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
