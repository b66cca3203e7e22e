/* Two POSIX threads: a mutex, a condition and a barrier, in known numbers: see tests/record/test_pthreads.py. Work is a sleep. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready, sum, has, asks, waits; /* the first thread has the mutex; the second is about to ask for it, to wait for the condition */

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

static void until(int *word)
{
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        usleep(100);
}

static void *first(void *unused)
{
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&has, 1, __ATOMIC_RELEASE);
    until(&asks);
    compute(5);
    sum++;
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    until(&waits);
    compute(5);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *second(void *unused)
{
    (void)unused;
    until(&has);
    __atomic_store_n(&asks, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&mutex);
    sum++;
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    MPI_Init(&argc, &argv);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
