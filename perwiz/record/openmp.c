/* Threads of OpenMP, as the runtime tells of them (OMPT, OpenMP 5.0, 4.5; LLVM's and Intel's do). A thread writes rows to its own file, as MPI
   calls do; who let whom go on, the reader finds by the numbers of teams, tasks and locks. */

#ifndef SMPI_H

typedef union {
    uint64_t value;
    void *ptr;
} OmptData;

enum { OMPT_BEGIN = 1, OMPT_END = 2 };
enum { OMPT_WORKER = 2 };                                     /* kind of thread */
enum { OMPT_INITIAL = 1, OMPT_EXPLICIT = 4 };                 /* flags of tasks */
enum { OMPT_COMPLETE = 1, OMPT_CANCEL = 3, OMPT_EARLY_FULFILL = 5, OMPT_LATE_FULFILL = 6 }; /* how a task was left */
enum { OMPT_EXPLICIT_BARRIER = 3, OMPT_TASKWAIT = 5, OMPT_TASKGROUP = 6, OMPT_REDUCTION = 7 };
enum { OMPT_CRITICAL = 5, OMPT_ATOMIC = 6, OMPT_ORDERED = 7 }; /* kinds of mutexes; those below are locks */
enum { OMPT_SINGLE_OTHER = 4 };

/* Constructs that are regions, by the number of OMPT; loops have several. */
static const char *const pw_works[] = {"omp parallel",  "omp for",      "omp sections", "omp single", NULL,      "omp workshare", "omp distribute",
                                       "omp taskloop", "omp scope", "omp masked",   "omp for",    "omp for", "omp for",       "omp for"};
enum { WORKS = sizeof pw_works / sizeof *pw_works, WORK_PARALLEL = 0, WORK_MASKED = 9 };
static int pw_work_regions[WORKS];
static int64_t pw_teams; /* so far */
static char pw_runtime[128];

/* A task is its number, and what of it is known. */
enum { TASK_EXPLICIT = 1, TASK_BEGUN = 2 };

static int given(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

#ifdef PERWIZ_ALONE
static void recording_begins(void);
#else
static void recording_begins(void) {} /* MPI_Init does that */
#endif

static int openmp_asked(void) { return given("PERWIZ_OPENMP") && given("PERWIZ_DIR"); }

static int threads_asked(void) { return given("PERWIZ_OPENMP") || given("PERWIZ_PTHREADS"); }

/* Write the regions that constructs are. */
static void openmp_regions(void)
{
    for (int k = 0; k < WORKS; k++)
        if (openmp_asked() && pw_works[k])
            pw_work_regions[k] = region_new(pw_works[k], 0, 1);
}

/* Return this thread if its events are to be recorded. Until openmp_leave its file stays as it is, whoever ends the recording. */
static inline Thread *openmp_enter(void)
{
    Thread *me = pw_me;
    if (UNLIKELY(!me) && !(me = start_thread()))
        return NULL;
    __atomic_exchange_n(&me->omp.busy, 1, __ATOMIC_SEQ_CST);
    if (LIKELY(__atomic_load_n(&pw_state, __ATOMIC_RELAXED) == ON && me->depth == me->omp.idle))
        return me;
    me->omp.busy = 0;
    return NULL;
}

static inline void openmp_leave(Thread *me) { __atomic_store_n(&me->omp.busy, 0, __ATOMIC_RELEASE); }

static inline Call *openmp_row(Thread *me, int op, int64_t from, int64_t until, int64_t id, uint64_t site)
{
    Call *call = (Call *)(void *)me->calls.next;
    *call = (Call){.enter = from, .leave = until, .site = site, .u.request = id, .peer = NOBODY, .tag = NOBODY, .comm = NOBODY, .op = (uint16_t)op};
    if (until <= from)
        events_at_once(me);
    else if (UNLIKELY(pw_event_count))
        events_read(me, me->after);
    return call;
}

/* What begins now will be a row when it ends. */
static inline int64_t openmp_begun(Thread *me)
{
    if (UNLIKELY(pw_event_count))
        events_read(me, me->before);
    return now();
}

static inline void openmp_put(Thread *me, int op, int64_t from, int64_t until, int64_t id, uint64_t site)
{
    openmp_row(me, op, from, until, id, site);
    me->depth++;
    commit(me);
}

static inline void openmp_boundary(Thread *me, int op, int work, int64_t id, uint64_t site)
{
    int64_t time = now();
    openmp_row(me, op, time, time, id, site)->peer = op == OP_BEGIN ? pw_work_regions[work] : NOBODY;
    me->depth++;
    commit(me);
}

/* A loop, a section ... begins or ends. */
static void openmp_construct(Thread *me, int work, int end, const void *site)
{
    int *open = &me->omp.works[me->omp.teams];
    if (end == OMPT_BEGIN)
        ++*open;
    else if (--*open < 0) {
        *open = 0; /* it was ended by a barrier */
        return;
    }
    openmp_boundary(me, end == OMPT_BEGIN ? OP_BEGIN : OP_END, work, 0, (uint64_t)(uintptr_t)site);
}

/* No such construct goes on behind a barrier of its team. LLVM does not tell the end of a single of GCC's. */
static inline void constructs_end(Thread *me)
{
    for (int *open = &me->omp.works[me->omp.teams]; UNLIKELY(*open > 0); --*open)
        openmp_boundary(me, OP_END, 0, 0, 0);
}

/* A worker has nothing to do from now on; its row lasts until it has. */
static void idle_begins(Thread *me, int64_t from)
{
    openmp_row(me, OP_IDLE, from, 0, 0, 0);
    me->omp.idle = me->depth = 1;
}

static void idle_ends(Thread *me, int64_t until, int64_t team)
{
    Call *call = (Call *)(void *)me->calls.next;
    call->leave = until > call->enter ? until : call->enter; /* another processor's clock may be behind by some ns */
    if (UNLIKELY(pw_event_count))
        events_read(me, me->after);
    call->u.request = team;
    me->omp.idle = 0;
    commit(me);
}

/* Write how long this thread has waited, and that it works now. */
static inline void wait_ends(Thread *me, Wait wait, int64_t until)
{
    openmp_row(me, wait.op, me->omp.since ? me->omp.since : until, until, wait.id, wait.site)->sent = wait.group;
    me->depth++;
    commit(me);
    me->omp.since = 0;
}

static void openmp_thread_begin(int kind, OmptData *data)
{
    (void)data;
    Thread *me = openmp_enter();
    if (!me)
        return;
    if (kind == OMPT_WORKER && !me->omp.idle)
        idle_begins(me, now());
    openmp_leave(me);
}

/* What of this thread lasts, lasts until now. */
static void openmp_ends(Thread *me, int64_t time)
{
    Omp *omp = &me->omp;
    if (omp->idle)
        idle_ends(me, time, 0);
    if (omp->since && omp->waits)
        wait_ends(me, omp->wait[omp->waits - 1], time);
    for (; omp->teams; omp->teams--) {
        constructs_end(me);
        openmp_boundary(me, OP_END, 0, 0, 0);
        if (omp->team[omp->teams - 1].worker)
            openmp_put(me, OP_IDLE, now(), now(), 0, 0);
    }
}

static void openmp_thread_end(OmptData *data)
{
    (void)data;
    Thread *me = pw_me ? openmp_enter() : NULL;
    if (!me)
        return;
    openmp_ends(me, now());
    openmp_leave(me);
}

static void openmp_parallel_begin(OmptData *task, const void *frame, OmptData *parallel, unsigned asked, int flags, const void *site)
{
    (void)task, (void)frame, (void)asked, (void)flags;
    Thread *me = openmp_enter();
    parallel->ptr = NULL;
    if (!me)
        return;
    Omp *omp = &me->omp;
    if (omp->forks < NESTED) {
        Fork *fork = &omp->fork[omp->forks];
        *fork = (Fork){__atomic_add_fetch(&pw_teams, 1, __ATOMIC_RELAXED), (uint64_t)(uintptr_t)site, openmp_begun(me), 0};
        parallel->ptr = fork;
    }
    omp->forks++;
    openmp_leave(me);
}

static void openmp_parallel_end(OmptData *parallel, OmptData *task, int flags, const void *site)
{
    (void)task, (void)flags, (void)site;
    Thread *me = openmp_enter();
    if (!me)
        return;
    Fork *fork = parallel->ptr;
    me->omp.forks -= me->omp.forks > 0;
    if (fork)
        openmp_put(me, OP_JOIN, fork->ended ? fork->ended : now(), now(), fork->team, fork->site);
    openmp_leave(me);
}

static inline uint64_t new_task(Thread *me, int bits) { return ((uint64_t)(me->number + 1) << 40 | (uint64_t)++me->omp.tasks) << 2 | (uint64_t)bits; }

static inline int64_t task_number(const OmptData *task) { return task ? (int64_t)(task->value & ~3ull) : 0; }

/* A thread begins or ends its part of a team. The one that opened it has number 0, the others were idle. */
static void openmp_implicit_task(int end, OmptData *parallel, OmptData *task, unsigned size, unsigned number, int flags)
{
    (void)size;
    if (flags & OMPT_INITIAL)
        return;
    Thread *me = openmp_enter();
    if (!me)
        return;
    Omp *omp = &me->omp;
    int64_t time = now();
    if (end == OMPT_BEGIN) {
        Fork *fork = parallel ? parallel->ptr : NULL;
        int64_t team = fork ? fork->team : 0;
        uint64_t site = fork ? fork->site : 0;
        if (number) {
            if (!omp->idle)
                idle_begins(me, time);
            idle_ends(me, time, team);
        } else if (fork)
            openmp_put(me, OP_FORK, fork->begun, time, team, site);
        task->value = new_task(me, 0);
        if (omp->teams < NESTED)
            omp->team[omp->teams++] = (Membership){team, number != 0, number ? NULL : fork};
        omp->works[omp->teams] = 0;
        openmp_boundary(me, OP_BEGIN, WORK_PARALLEL, team, site);
    } else if (omp->teams) {
        Membership *in = &omp->team[--omp->teams];
        openmp_boundary(me, OP_END, WORK_PARALLEL, 0, 0);
        if (in->fork)
            in->fork->ended = openmp_begun(me);
        if (in->worker)
            idle_begins(me, now());
    }
    openmp_leave(me);
}

static void wait_begins(Thread *me, int op, int64_t id, int64_t group, const void *site)
{
    Omp *omp = &me->omp;
    if (omp->waits < WAITS)
        omp->wait[omp->waits++] = (Wait){op, id, group, (uint64_t)(uintptr_t)site};
    omp->since = openmp_begun(me);
}

static void wait_over(Thread *me)
{
    Omp *omp = &me->omp;
    if (omp->waits)
        wait_ends(me, omp->wait[--omp->waits], now());
}

/* A task group says where it begins here, and where its end is waited for by openmp_sync_wait. */
static void openmp_sync_region(int kind, int end, OmptData *parallel, OmptData *task, const void *site)
{
    (void)parallel;
    if (kind == OMPT_REDUCTION)
        return;
    Thread *me = openmp_enter();
    if (!me)
        return;
    Omp *omp = &me->omp;
    if (kind == OMPT_TASKGROUP) {
        int64_t time = now();
        if (end == OMPT_BEGIN && omp->groups < NESTED)
            omp->group[omp->groups++] = time;
        else if (end == OMPT_END && omp->groups)
            omp->groups--;
    } else if (end == OMPT_END)
        wait_over(me);
    else if (kind == OMPT_TASKWAIT)
        wait_begins(me, OP_TASKWAIT, task_number(task), 0, site);
    else {
        constructs_end(me);
        int64_t team = omp->teams ? omp->team[omp->teams - 1].id : 0;
        wait_begins(me, kind == OMPT_EXPLICIT_BARRIER ? OP_BARRIER : OP_IMPLICIT_BARRIER, team, 0, site);
    }
    openmp_leave(me);
}

static void openmp_sync_wait(int kind, int end, OmptData *parallel, OmptData *task, const void *site)
{
    (void)parallel;
    Thread *me = kind == OMPT_TASKGROUP ? openmp_enter() : NULL;
    if (!me)
        return;
    if (end == OMPT_BEGIN)
        wait_begins(me, OP_TASKWAIT, task_number(task), me->omp.groups ? me->omp.group[me->omp.groups - 1] : 0, site);
    else
        wait_over(me);
    openmp_leave(me);
}

static void openmp_task_create(OmptData *parent, const void *frame, OmptData *task, int flags, int depends, const void *site)
{
    (void)frame, (void)depends;
    if (!(flags & OMPT_EXPLICIT))
        return;
    task->value = 0;
    Thread *me = openmp_enter();
    if (!me)
        return;
    int64_t time = now();
    task->value = new_task(me, TASK_EXPLICIT);
    openmp_row(me, OP_TASK_CREATE, time, time, task_number(task), (uint64_t)(uintptr_t)site)->received = task_number(parent);
    me->depth++;
    commit(me);
    openmp_leave(me);
}

/* One task is left for another. Those that begin are made while the thread waits, or at once. An untied one is left before it has ended,
   and goes on where a thread that is in no task takes it up. */
static void openmp_task_schedule(OmptData *prior, int how, OmptData *following)
{
    Thread *me = openmp_enter();
    if (!me)
        return;
    Omp *omp = &me->omp;
    int64_t time = now();
    int within = prior && (prior->value & TASK_EXPLICIT), begins = following && (following->value & TASK_EXPLICIT);
    int resumed = begins && (following->value & TASK_BEGUN), ended = how == OMPT_COMPLETE || how == OMPT_CANCEL;
    if (how == OMPT_EARLY_FULFILL || how == OMPT_LATE_FULFILL)
        within = begins = 0;
    if (within && (ended || !begins || resumed)) {
        openmp_put(me, OP_TASK_END, time, time, task_number(prior), 0);
        omp->since = omp->waited & 1 ? time : 0;
        omp->waited >>= 1;
    }
    if (begins && !(resumed && within)) {
        following->value |= TASK_BEGUN;
        omp->waited = omp->waited << 1 | (omp->since != 0);
        wait_ends(me, (Wait){OP_TASK, task_number(following), 0, 0}, time);
    }
    openmp_leave(me);
}

/* A task may not begin before another one has ended. */
static void openmp_task_dependence(OmptData *source, OmptData *sink)
{
    Thread *me = openmp_enter();
    if (!me)
        return;
    int64_t time = now();
    openmp_row(me, OP_TASK_NEEDS, time, time, task_number(sink), 0)->received = task_number(source);
    me->depth++;
    commit(me);
    openmp_leave(me);
}

static void openmp_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t id, const void *site)
{
    (void)kind, (void)hint, (void)implementation, (void)id, (void)site;
    Thread *me = openmp_enter();
    if (!me)
        return;
    me->omp.asked = openmp_begun(me);
    openmp_leave(me);
}

static void openmp_mutex_acquired(int kind, uint64_t id, const void *site)
{
    Thread *me = openmp_enter();
    if (!me)
        return;
    int op = kind == OMPT_CRITICAL || kind == OMPT_ATOMIC ? OP_CRITICAL : kind == OMPT_ORDERED ? OP_ORDERED : OP_LOCK;
    int64_t time = now();
    openmp_put(me, op, me->omp.asked ? me->omp.asked : time, time, (int64_t)id, (uint64_t)(uintptr_t)site);
    me->omp.asked = 0;
    openmp_leave(me);
}

static void openmp_mutex_released(int kind, uint64_t id, const void *site)
{
    (void)kind;
    Thread *me = openmp_enter();
    if (!me)
        return;
    int64_t time = now();
    openmp_put(me, OP_RELEASE, time, time, (int64_t)id, (uint64_t)(uintptr_t)site);
    openmp_leave(me);
}

static void openmp_work(int kind, int end, OmptData *parallel, OmptData *task, uint64_t count, const void *site)
{
    (void)parallel, (void)task, (void)count;
    Thread *me = kind > 0 && kind < WORKS && kind != OMPT_SINGLE_OTHER && kind != WORK_MASKED ? openmp_enter() : NULL;
    if (!me)
        return;
    openmp_construct(me, kind, end, site);
    openmp_leave(me);
}

static void openmp_masked(int end, OmptData *parallel, OmptData *task, const void *site)
{
    (void)parallel, (void)task;
    Thread *me = openmp_enter();
    if (!me)
        return;
    openmp_construct(me, WORK_MASKED, end, site);
    openmp_leave(me);
}

typedef void (*OmptFunction)(void);
typedef OmptFunction (*OmptLookup)(const char *name);

/* Callbacks by the numbers of OMPT. */
static const struct {
    int event;
    OmptFunction function;
} pw_callbacks[] = {
    {1, (OmptFunction)openmp_thread_begin},    {2, (OmptFunction)openmp_thread_end},     {3, (OmptFunction)openmp_parallel_begin},
    {4, (OmptFunction)openmp_parallel_end},    {5, (OmptFunction)openmp_task_create},    {6, (OmptFunction)openmp_task_schedule},
    {7, (OmptFunction)openmp_implicit_task},   {16, (OmptFunction)openmp_sync_wait},     {17, (OmptFunction)openmp_mutex_released},
    {19, (OmptFunction)openmp_task_dependence},
    {20, (OmptFunction)openmp_work},           {21, (OmptFunction)openmp_masked},        {23, (OmptFunction)openmp_sync_region},
    {26, (OmptFunction)openmp_mutex_acquire},  {27, (OmptFunction)openmp_mutex_acquired},
};

static int openmp_initialize(OmptLookup lookup, int device, OmptData *data)
{
    (void)device, (void)data;
    recording_begins();
    int (*set)(int, OmptFunction) = (int (*)(int, OmptFunction))lookup("ompt_set_callback");
    for (size_t k = 0; set && k < sizeof pw_callbacks / sizeof *pw_callbacks; k++)
        set(pw_callbacks[k].event, pw_callbacks[k].function);
    return set != NULL;
}

static void openmp_finalize(OmptData *data) { (void)data; }

/* What the runtime asks for, in every library, when it begins. */
__attribute__((visibility("default"))) void *ompt_start_tool(unsigned version, const char *runtime)
{
    (void)version;
    static struct {
        int (*initialize)(OmptLookup, int, OmptData *);
        void (*finalize)(OmptData *);
        OmptData data;
    } tool = {openmp_initialize, openmp_finalize, {0}};
    if (!openmp_asked())
        return NULL;
    snprintf(pw_runtime, sizeof pw_runtime, "%s", runtime && *runtime ? runtime : "OpenMP");
    return &tool;
}

/* Write which runtime has told of threads, if one has. */
static void write_runtime(void)
{
    if (!*pw_runtime)
        return;
    Line line = {0};
    put(&line, "{\"runtime\":");
    put_string(&line, pw_runtime);
    put(&line, "}");
    write_line(&line);
}

/* Nobody else writes any more, whatever the threads of OpenMP do: one of them may still be on its way from its last team. */
static void openmp_settle(void)
{
    for (Thread *one = pw_threads; one; one = one->following) {
        while (one != pw_me && __atomic_load_n(&one->omp.busy, __ATOMIC_SEQ_CST))
            sched_yield();
        if (one->depth == one->omp.idle)
            openmp_ends(one, now());
    }
}

#else
static int threads_asked(void) { return 0; }
static void openmp_regions(void) {}
static void openmp_settle(void) {}
static void write_runtime(void) {}
#endif
