/* Two POSIX threads: a mutex, a condition and a barrier, in known numbers: see tests/record/test_pthreads.py. Work is a sleep. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready, sum;

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

/* The second thread comes while the first one has the mutex, and waits until that says that it is ready. */
static void *work(void *given)
{
    int second = given != NULL;
    compute(second ? 6 : 2);
    pthread_mutex_lock(&mutex);
    sum++;
    compute(second ? 1 : 8);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    if (!second)
        compute(5);
    pthread_mutex_lock(&mutex);
    while (second && !ready)
        pthread_cond_wait(&condition, &mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    if (second)
        pthread_exit(NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    MPI_Init(&argc, &argv);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int k = 0; k < 2; k++)
        pthread_create(&threads[k], NULL, work, k ? &sum : NULL);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
