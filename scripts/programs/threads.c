/* Two threads a process, everything OpenMP makes them wait for, in known numbers: see tests/record/test_openmp.py. Work is a sleep. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

int main(int argc, char **argv)
{
    int provided, rank, sum = 0;
    omp_lock_t lock;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
    MPI_Barrier(MPI_COMM_WORLD);
    omp_destroy_lock(&lock);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
