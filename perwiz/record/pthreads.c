/* POSIX threads: what the wrappers in front of the program's threads (pthreads_front.c) say. Only threads that the program itself began are
   recorded, and only outside of MPI. */

#ifndef SMPI_H
#define SHOWN __attribute__((visibility("default")))

static struct Begun {
    pthread_t thread;
    int64_t id;
} *pw_begun;
static int pw_begun_count;
static int pw_begun_lock;

static void begun_lock(void)
{
    while (__atomic_exchange_n(&pw_begun_lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void begun_unlock(void) { __atomic_store_n(&pw_begun_lock, 0, __ATOMIC_RELEASE); }

/* The time, if what this thread does is recorded, else 0. */
SHOWN int64_t perwiz_thread_time(void)
{
    Thread *me = pw_me;
    return me && !me->depth && !pw_profiling && pw_state == ON ? openmp_begun(me) : 0;
}

/* Write a call of threads that began at a time and ends now, or, at once, with that. */
SHOWN void perwiz_thread_did(int what, int64_t from, int at_once, int64_t id, int64_t other, void *site)
{
    Thread *me = openmp_enter();
    if (!me)
        return;
    openmp_row(me, OP_PTHREAD_CREATE + what, from, at_once ? from : now(), id, (uint64_t)(uintptr_t)site)->sent = other;
    me->depth++;
    commit(me);
    openmp_leave(me);
}

/* A new thread begins, or one ends. */
SHOWN void perwiz_thread_lives(int64_t id)
{
    Thread *me = openmp_enter();
    if (!me)
        return;
    int64_t time = now();
    openmp_put(me, OP_PTHREAD_IDLE, time, time, id, 0);
    openmp_leave(me);
}

/* A thread is about to be created: without MPI recording begins here. */
SHOWN void perwiz_thread_first(void) { recording_begins(); }

/* Return the number of a thread that is to be begun. */
SHOWN int64_t perwiz_thread_new(void) { return __atomic_add_fetch(&pw_teams, 1, __ATOMIC_RELAXED); }

SHOWN void perwiz_thread_known(pthread_t thread, int64_t id)
{
    begun_lock();
    pw_begun = memory(pw_begun, (size_t)(pw_begun_count + 1) * sizeof *pw_begun);
    pw_begun[pw_begun_count++] = (struct Begun){thread, id};
    begun_unlock();
}

/* Return the number of a thread that has ended, and forget it; 0 if it is unknown. */
SHOWN int64_t perwiz_thread_gone(pthread_t thread)
{
    int64_t id = 0;
    begun_lock();
    for (int k = pw_begun_count - 1; k >= 0 && !id; k--)
        if (pthread_equal(pw_begun[k].thread, thread)) {
            id = pw_begun[k].id;
            pw_begun[k] = pw_begun[--pw_begun_count];
        }
    begun_unlock();
    return id;
}

#endif
