/* In front of POSIX threads by LD_PRELOAD, before the recorder: every call goes on to the real one, and the recorder is told of it. A library of
   its own, so that programs that are not asked for their threads have no wrapper in front of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* In the order of the operations that recorder.h has. */
enum { CREATE, IDLE, JOIN, LOCK, RELEASE, COND_WAIT, COND_SIGNAL, BARRIER_WAIT };

/* The recorder's, which is loaded beside this. */
#define ITS __attribute__((weak)) extern
ITS int64_t perwiz_thread_time(void), perwiz_thread_new(void), perwiz_thread_gone(pthread_t thread);
ITS void perwiz_thread_did(int what, int64_t from, int at_once, int64_t id, int64_t other, void *site);
ITS void perwiz_thread_first(void), perwiz_thread_lives(int64_t id);
ITS void perwiz_thread_known(pthread_t thread, int64_t id);

/* The real function. Waits on conditions have an older version, which is none for the conditions of today. */
#define REAL(name)                                                                                                                       \
    static __typeof__(name) *real;                                                                                                       \
    if (!real && !(real = (__typeof__(name) *)dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2")))                                                  \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define SITE __builtin_return_address(0)
#define ID(what) (int64_t)(intptr_t)(what)

typedef struct {
    void *(*run)(void *);
    void *with;
    int64_t id;
} Start;

static void ends(void *id) { perwiz_thread_lives((int64_t)(intptr_t)id); }

static void *begins(void *given)
{
    Start start = *(Start *)given;
    void *out;
    free(given);
    perwiz_thread_lives(start.id);
    pthread_cleanup_push(ends, (void *)(intptr_t)start.id);
    out = start.run(start.with);
    pthread_cleanup_pop(1);
    return out;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with)
{
    REAL(pthread_create);
    perwiz_thread_first();
    int64_t from = perwiz_thread_time();
    Start *start = from ? malloc(sizeof *start) : NULL;
    if (!start)
        return real(thread, how, run, with);
    int64_t id = perwiz_thread_new();
    *start = (Start){run, with, id};
    int code = real(thread, how, begins, start);
    if (code)
        free(start);
    else {
        perwiz_thread_known(*thread, id);
        perwiz_thread_did(CREATE, from, 0, id, 0, SITE);
    }
    return code;
}

int pthread_join(pthread_t thread, void **value)
{
    REAL(pthread_join);
    int64_t from = perwiz_thread_time();
    int code = real(thread, value);
    int64_t id = from && !code ? perwiz_thread_gone(thread) : 0;
    if (id)
        perwiz_thread_did(JOIN, from, 0, id, 0, SITE);
    return code;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_lock);
    int64_t from = perwiz_thread_time();
    int code = real(mutex);
    if (from && !code)
        perwiz_thread_did(LOCK, from, 0, ID(mutex), 0, SITE);
    return code;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_trylock);
    int64_t from = perwiz_thread_time();
    int code = real(mutex);
    if (from && !code)
        perwiz_thread_did(LOCK, from, 0, ID(mutex), 0, SITE);
    return code;
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    REAL(pthread_mutex_timedlock);
    int64_t from = perwiz_thread_time();
    int code = real(mutex, until);
    if (from && !code)
        perwiz_thread_did(LOCK, from, 0, ID(mutex), 0, SITE);
    return code;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_unlock);
    int64_t from = perwiz_thread_time();
    if (from)
        perwiz_thread_did(RELEASE, from, 1, ID(mutex), 0, SITE);
    return real(mutex);
}

/* A wait gives the mutex back, and has it again when it ends, whatever ends it. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    REAL(pthread_cond_wait);
    int64_t from = perwiz_thread_time();
    if (from)
        perwiz_thread_did(RELEASE, from, 1, ID(mutex), 0, SITE);
    int code = real(condition, mutex);
    if (from)
        perwiz_thread_did(COND_WAIT, from, 0, ID(mutex), ID(condition), SITE);
    return code;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    REAL(pthread_cond_timedwait);
    int64_t from = perwiz_thread_time();
    if (from)
        perwiz_thread_did(RELEASE, from, 1, ID(mutex), 0, SITE);
    int code = real(condition, mutex, until);
    if (from)
        perwiz_thread_did(COND_WAIT, from, 0, ID(mutex), code ? 0 : ID(condition), SITE);
    return code;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    REAL(pthread_cond_signal);
    int64_t from = perwiz_thread_time();
    if (from)
        perwiz_thread_did(COND_SIGNAL, from, 1, ID(condition), 0, SITE);
    return real(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    REAL(pthread_cond_broadcast);
    int64_t from = perwiz_thread_time();
    if (from)
        perwiz_thread_did(COND_SIGNAL, from, 1, ID(condition), 1, SITE);
    return real(condition);
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    REAL(pthread_barrier_wait);
    int64_t from = perwiz_thread_time();
    int code = real(barrier);
    if (from)
        perwiz_thread_did(BARRIER_WAIT, from, 0, ID(barrier), code == PTHREAD_BARRIER_SERIAL_THREAD, SITE);
    return code;
}
