/* What recording threads costs an event of OpenMP: overhead_openmp [ROUNDS]. Prints processor time per event, in nanoseconds; run it with and
   without recorder, on 1 process. One thread, which waits for nobody, tells what an event costs; OMP_NUM_THREADS more, what a team does. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Say what one of so many rounds took, over the events that it has. */
static void row(const char *what, double from, long rounds, int events)
{
    printf("%-28s %7.1f ns\n", what, (seconds() - from) / (double)rounds / events * 1e9);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    long rounds = argc > 1 ? atol(argv[1]) : 1000000;
    omp_lock_t lock;
    omp_init_lock(&lock);
    double from = seconds();
    for (long k = 0; k < rounds; k++) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
    row("set and unset a lock (2)", from, rounds, 2);
    from = seconds();
    for (long k = 0; k < rounds; k++)
#pragma omp critical
        provided += (int)k;
    row("critical (2)", from, rounds, 2);
#pragma omp parallel num_threads(1)
    {
        from = seconds();
        for (long k = 0; k < rounds; k++) {
#pragma omp barrier
        }
        row("barrier of one (1)", from, rounds, 1);
        from = seconds();
        for (long k = 0; k < rounds; k++) {
#pragma omp for nowait
            for (int i = 0; i < 1; i++)
                provided++;
        }
        row("loop (2)", from, rounds, 2);
        from = seconds();
        for (long k = 0; k < rounds; k++) {
#pragma omp task firstprivate(k)
            provided += (int)k;
        }
#pragma omp taskwait
        row("task (3)", from, rounds, 3);
    }
    from = seconds();
    for (long k = 0; k < rounds; k++) {
#pragma omp parallel num_threads(1)
        provided++;
    }
    row("parallel region of one (5)", from, rounds, 5);
    from = seconds();
    for (long k = 0; k < rounds / 10; k++) {
#pragma omp parallel num_threads(2)
        provided++;
    }
    row("parallel region of two (9)", from, rounds / 10, 9);
    omp_destroy_lock(&lock);
    MPI_Finalize();
    return provided == 0;
}
