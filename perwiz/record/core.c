/* Time, threads, and the record of one call. */

enum { BEFORE, STARTING, ON, OVER };
static int pw_state = BEFORE;
static char pw_folder[PATH_MAX - 64];
static int64_t pw_ids; /* requests so far, of all threads */
static Thread *pw_threads;
static int pw_thread_count;
static pthread_key_t pw_ending;
static __thread Thread *pw_me __attribute__((tls_model("initial-exec")));

/* Wrong clocks on purpose: what this process adds to its time. */
static int pw_wrong;
static struct {
    double offset, drift, wander, period; /* ns, ppm, ns, s */
    int64_t since;
} pw_error;
int64_t HIDDEN pw_distort(int64_t time);

/* The clock: CLOCK_MONOTONIC, or the time stamp counter it is made from, scaled with what one process of the node found, so that the
   processes of a node agree to the tick. The counter costs half as much. */
#ifndef SMPI_H
static struct {
    int counter;      /* 1: in use */
    uint64_t ticks;   /* at time `time` */
    int64_t time;
    uint64_t scale;   /* ns per tick, times 2 to the 32 */
} pw_clock;
#endif

static inline int64_t system_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static inline int64_t true_now(void)
{
#ifdef SMPI_H
    return (int64_t)(PMPI_Wtime() * 1e9);
#else
    if (LIKELY(pw_clock.counter))
        return pw_clock.time + (int64_t)(((__int128)(int64_t)(ticks() - pw_clock.ticks) * (__int128)pw_clock.scale) >> 32);
    return system_now();
#endif
}

static inline int64_t now(void)
{
    int64_t time = true_now();
    return LIKELY(!pw_wrong) ? time : pw_distort(time);
}

int64_t pw_distort(int64_t time)
{
    double past = (double)(time - pw_error.since), turn = pw_error.period * 1e9;
    double wander = 0;
    if (turn > 0) { /* there and back in one period, smoothly: a parabola up, a parabola down */
        double phase = past / turn - (double)(int64_t)(past / turn), half = phase < 0.5 ? phase : phase - 0.5;
        wander = pw_error.wander * 16 * half * (0.5 - half) * (phase < 0.5 ? 1 : -1);
    }
    double more = pw_error.offset + past * pw_error.drift * 1e-6 + wander;
    return time + (int64_t)(more < 0 ? more - 0.5 : more + 0.5);
}

/* Row 0 of every file of calls is a mark of the recorder's: how long it took to start, whether it came to its end, and why it stopped. */
static inline Call *first_row(Thread *me) { return (Call *)(void *)me->calls.first; }

static void say_stopped(Thread *me, int reason)
{
    Call row;
    off_t at = HEADER;
    if (pread(me->calls.fd, &row, sizeof row, at) == (ssize_t)sizeof row) {
        row.peer = reason;
        if (pwrite(me->calls.fd, &row, sizeof row, at) < 0)
            reason = errno;
    }
}

/* No more records from this thread; the program goes on. */
static void stop(Thread *me, int reason)
{
    say_stopped(me, reason);
    file_close(&me->calls);
    file_close(&me->parts);
    file_close(&me->counts);
    me->depth = 1 << 20; /* so that nothing is outermost */
}

static __attribute__((noinline)) void roll(Thread *me);
static __attribute__((noinline)) void mark(Thread *me, int64_t from);

/* Row k of a file of counts belongs to row k of the calls: the values as it began, and as it ended. */

static char pw_counts_descr[96];

/* Make the file of this thread; if events cannot be counted there is none. Return 0, or -1 with errno. */
static int counts_open(Thread *me)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/counts-%06d.%d.npy", pw_folder, pw_first + pw_rank, me->number);
    events_begin(me);
    if (me->events < 0)
        return 0;
    snprintf(pw_counts_descr, sizeof pw_counts_descr, "[('entered','<i8',(%d,)),('returned','<i8',(%d,))]", pw_event_count, pw_event_count);
    return file_open(&me->counts, path, pw_counts_descr, 2 * (size_t)pw_event_count * sizeof(int64_t));
}

/* Write the row; return 0, or -1 with errno. */
static __attribute__((noinline)) int counts_put(Thread *me)
{
    size_t size = (size_t)pw_event_count * sizeof(int64_t);
    if (me->counts.fd < 0)
        return 0;
    memcpy(me->counts.next, me->before, size);
    memcpy(me->counts.next + size, me->after, size);
    me->counts.next += 2 * size;
    if (LIKELY(me->counts.next < me->counts.end))
        return 0;
    me->late = now();
    return file_roll(&me->counts);
}

/* The row is complete; `count` is the call's argument of that name. */
static inline void commit_of(Thread *me, int64_t count)
{
    if (UNLIKELY(pw_profiling)) {
        count_call(me, count);
        return;
    }
    if (UNLIKELY(pw_event_count) && counts_put(me)) {
        stop(me, errno);
        return;
    }
    me->calls.next += sizeof(Call);
    if (UNLIKELY(me->calls.next == me->calls.end))
        roll(me);
    me->depth--;
    if (UNLIKELY(me->late))
        mark(me, me->late);
}

static inline void commit(Thread *me) { commit_of(me, 0); }

/* Write that the recorder itself took time. */
static __attribute__((noinline)) void mark(Thread *me, int64_t from)
{
    Call *call = (Call *)(void *)me->calls.next;
    me->late = 0;
    if (call == NULL || pw_profiling)
        return;
    *call = (Call){.enter = from, .leave = now(), .peer = NOBODY, .tag = NOBODY, .comm = NOBODY, .op = OP_MARK};
    events_at_once(me);
    me->depth++;
    commit(me);
}

static __attribute__((noinline)) void roll(Thread *me)
{
    int64_t from = now();
    if (file_roll(&me->calls))
        stop(me, errno);
    else
        mark(me, from);
}

static int open_file(Thread *me, File *file, const char *what, const char *descr, size_t row)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s-%06d.%d.npy", pw_folder, what, pw_first + pw_rank, me->number);
    return file_open(file, path, descr, row);
}

static __attribute__((noinline)) Thread *start_thread(void)
{
    if (pw_state != ON)
        return NULL;
    int64_t from = now();
    Thread *me = memory(NULL, sizeof *me);
    memset(me, 0, sizeof *me);
    me->number = __atomic_fetch_add(&pw_thread_count, 1, __ATOMIC_RELAXED);
    me->calls.fd = me->parts.fd = me->counts.fd = me->events = -1;
    if (pw_profiling)
        count_thread(me, from);
    else if (open_file(me, &me->calls, "calls", pw_calls_descr, sizeof(Call)) || open_file(me, &me->parts, "parts", pw_parts_descr, sizeof(Part)) ||
             (pw_event_count && counts_open(me))) {
        fprintf(stderr, "perwiz: %s: cannot be written: %s; a thread of rank %d is not recorded\n", pw_folder, strerror(errno), pw_first + pw_rank);
        stop(me, errno);
    }
    else
        mark(me, from);
    me->following = __atomic_load_n(&pw_threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&pw_threads, &me->following, me, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    pthread_setspecific(pw_ending, me);
    return pw_me = me;
}

static void end_thread(void *of)
{
    Thread *me = of;
    me->depth = 1 << 20;
    if (pw_profiling)
        count_ended(me, now());
    file_close(&me->calls);
    file_close(&me->parts);
    file_close(&me->counts);
    pw_me = NULL;
}

/* Begin a call; return NULL if it is not to be recorded. */
static inline Thread *enter(int op, void *site)
{
    Thread *me = pw_me;
    if (UNLIKELY(!me) && !(me = start_thread()))
        return NULL;
    if (UNLIKELY(me->depth))
        return NULL;
    me->depth = 1;
    Call *call = (Call *)(void *)me->calls.next;
    call->site = (uint64_t)(uintptr_t)site;
    call->peer = call->tag = call->comm = NOBODY;
    call->op = (uint16_t)op;
    if (UNLIKELY(pw_event_count))
        events_read(me, me->before);
    call->enter = now();
    return me;
}

/* The call has returned. Its row is complete only after commit(). */
static inline Call *leave(Thread *me, int code)
{
    Call *call = (Call *)(void *)me->calls.next;
    call->leave = now();
    if (UNLIKELY(pw_event_count))
        events_read(me, me->after);
    call->flags = LIKELY(code == MPI_SUCCESS) ? 0 : FAILED;
    return call;
}

/* Return a row for one of several requests of a call, or NULL if there is no room for it. */
static Part *part(Thread *me, Call *call)
{
    if (UNLIKELY(me->parts.next == me->parts.end)) {
        if (pw_profiling)
            return &me->spare_part;
        if (me->parts.fd < 0)
            return NULL;
        me->late = now();
        if (file_roll(&me->parts)) {
            say_stopped(me, errno);
            file_close(&me->parts);
            return NULL;
        }
    }
    Part *row = (Part *)(void *)me->parts.next;
    me->parts.next += sizeof *row;
    row->call = me->calls.rows + ((char *)call - me->calls.first) / (int64_t)sizeof(Call);
    return row;
}

/* Make room for n requests of one call. */
static void reserve(Thread *me, int n)
{
    if (n <= me->room)
        return;
    size_t room = (size_t)(me->room = 2 * n);
    me->keys = memory(me->keys, room * sizeof *me->keys);
    me->statuses = memory(me->statuses, room * sizeof *me->statuses);
    me->requests = memory(me->requests, room * sizeof *me->requests);
    me->indices = memory(me->indices, room * sizeof *me->indices);
}
