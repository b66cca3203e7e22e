/* POSIX threads without MPI: two that take turns with a mutex, and an end: alone_pthreads [detach | kill | cancel | give]. Work is a sleep. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static const char *how = "";
static int taken;

static int is(const char *word) { return !strcmp(how, word); }

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

static void *work(void *second)
{
    for (int k = 0; k < 3; k++) {
        pthread_mutex_lock(&mutex);
        compute(2);
        pthread_mutex_unlock(&mutex);
    }
    if (second && (is("detach") || is("cancel") || is("kill"))) /* for good */
        pthread_mutex_lock(&held), compute(1000);
    if (is("give") && !second) {
        pthread_mutex_lock(&held);
        __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
        compute(2);
    }
    if (is("give") && second) { /* what the other one has locked */
        while (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE))
            usleep(100);
        compute(5);
        pthread_mutex_unlock(&held);
        pthread_mutex_lock(&held);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    how = argc > 1 ? argv[1] : "";
    compute(2);
    if (is("detach"))
        pthread_mutex_lock(&held);
    for (int k = 0; k < 2; k++)
        pthread_create(&threads[k], NULL, work, k ? &mutex : NULL);
    pthread_join(threads[0], NULL);
    if (is("kill"))
        kill(getpid(), SIGKILL);
    if (is("detach")) {
        pthread_detach(threads[1]);
        compute(15);
        return 0;
    }
    if (is("cancel")) {
        compute(15);
        pthread_cancel(threads[1]);
    }
    pthread_join(threads[1], NULL);
    compute(3);
    puts("done");
    return 0;
}
