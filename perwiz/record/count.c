/* Counters only: instead of a row in a file, a call adds to the counters of its routine. */

static int pw_profiling; /* counters only, no trace; decided before MPI_Init */
static int pw_rank, pw_ranks, pw_first; /* in its world; the processes of worlds before it, which have spawned it */
static int pw_fortran; /* MPI was initialised from Fortran */
static int pw_folding; /* lock of what follows */
static Counter *pw_sums[PHASES]; /* of threads that have ended */
static int64_t pw_walls[PHASES], pw_inside[EVENTS], pw_total[EVENTS];
static int64_t pw_counted_threads;
static int64_t pw_profile_cost; /* how long the recorder took in MPI_Init */

static Counter *new_table(void)
{
    Counter *table = memory(NULL, (size_t)pw_name_count * sizeof *table);
    return memset(table, 0, (size_t)pw_name_count * sizeof *table);
}

/* Count a call that has returned; out of line, so that wrappers stay as small as tracing needs them. */
static __attribute__((noinline)) void count_call(Thread *me, int64_t count)
{
    Call *call = &me->spare;
    Counter *one = &me->table[call->op];
    int64_t bytes = call->sent > call->received ? call->sent : call->received;
    one->calls++;
    one->time += call->leave - call->enter;
    one->count += LIKELY(!(call->flags & FAILED)) ? count : 0;
    one->sent += call->sent;
    one->received += call->received;
    one->bytes += bytes;
    int size = bytes > 0 ? 64 - __builtin_clzll((uint64_t)bytes) : 0;
    one->sizes[size < SIZES ? size : SIZES - 1]++;
    call->sent = call->received = 0;
    for (int k = 0; k < pw_event_count; k++)
        me->inside[k] += me->after[k] - me->before[k];
    me->depth--;
}

/* A thread makes its first call. */
static void count_thread(Thread *me, int64_t time)
{
    me->calls.next = (char *)&me->spare;
    me->table = me->tables[0] = new_table();
    me->since = time;
    __atomic_fetch_add(&pw_counted_threads, 1, __ATOMIC_RELAXED);
    events_begin(me);
}

/* Go on in the region `phase`. */
static void count_in(Thread *me, int phase, int64_t time)
{
    me->walls[me->phases[me->nested < NESTED ? me->nested : NESTED - 1]] += time - me->since;
    me->since = time;
    if (!me->tables[phase])
        me->tables[phase] = new_table();
    me->table = me->tables[phase];
}

/* A region begins, or (NOBODY) the last one ends. Regions there is no room for belong to the one around them. */
static void count_region(Thread *me, int region, int64_t time)
{
    int nested = me->nested, around = me->phases[nested < NESTED ? nested : NESTED - 1];
    me->depth--;
    if (region == NOBODY && nested == 0)
        return;
    if (region == NOBODY ? nested >= NESTED : nested + 1 >= NESTED) {
        me->nested += region == NOBODY ? -1 : 1;
        return;
    }
    int inner = region + 1 < PHASES ? region + 1 : around;
    int phase = region == NOBODY ? me->phases[nested - 1] : inner;
    count_in(me, phase, time);
    me->nested += region == NOBODY ? -1 : 1;
    me->phases[me->nested] = (unsigned char)phase;
}

static void add_table(Counter *to, const Counter *from)
{
    int64_t *sum = (int64_t *)to;
    const int64_t *more = (const int64_t *)from;
    for (size_t k = 0; k < (size_t)pw_name_count * sizeof *to / sizeof *sum; k++)
        sum[k] += more[k];
}

/* Add the counters of a thread to the sums; it has none afterwards. */
static void count_ended(Thread *me, int64_t time)
{
    int64_t last[EVENTS] = {0};
    if (!me->table)
        return;
    events_read(me, last);
    while (__atomic_exchange_n(&pw_folding, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    if (me->number == 0) /* the thread that initialised MPI: its time is the process's */
        count_in(me, 0, time);
    for (int k = 0; k < PHASES; k++) {
        pw_walls[k] += me->number == 0 ? me->walls[k] : 0;
        if (!me->tables[k])
            continue;
        if (!pw_sums[k])
            pw_sums[k] = new_table();
        add_table(pw_sums[k], me->tables[k]);
        free(me->tables[k]);
        me->tables[k] = NULL;
    }
    for (int k = 0; k < pw_event_count; k++) {
        pw_inside[k] += me->inside[k];
        pw_total[k] += last[k] - me->begun[k];
    }
    me->table = NULL;
    __atomic_store_n(&pw_folding, 0, __ATOMIC_RELEASE);
}
