/* OpenMP without MPI: two threads, work in known numbers, and an end: alone_openmp [exit | _exit | kill | nested | cancel]. Work is
   a sleep. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how = "";

static int is(const char *word) { return !strcmp(how, word); }

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

static int team(void)
{
    int sum = 0;
    omp_lock_t locks[2];
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
    {
#pragma omp critical(total)
        {
            sum++;
            compute(2);
        }
        for (int k = 0; k < 2; k++) {
            omp_set_lock(&locks[k]);
            compute(1);
            omp_unset_lock(&locks[k]);
        }
        if (is("exit") && omp_get_thread_num() == 1)
            exit(3);
        if (is("kill") && omp_get_thread_num() == 1)
            kill(getpid(), SIGKILL);
    }
    return sum;
}

/* Each of two threads opens a team of two. */
static void nested(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    {
        compute(1 + omp_get_thread_num());
#pragma omp barrier
        compute(1);
    }
}

/* A loop that is left in the middle, and a team; with OMP_CANCELLATION=true. */
static void cancelled(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < 8; k++) {
            compute(1);
            if (k == 3) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
        if (omp_get_thread_num() == 1) {
            compute(2);
#pragma omp cancel parallel
        }
#pragma omp cancellation point parallel
#pragma omp barrier
        compute(1);
    }
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "";
    compute(3);
    int sum = team();
    if (is("nested"))
        nested();
    if (is("cancel"))
        cancelled();
    compute(4);
    printf("sum %d\n", sum);
    fflush(stdout);
    if (is("_exit"))
        _exit(5);
    return 0;
}
