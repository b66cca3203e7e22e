/* Events counted by the processor or the kernel for this thread, through perf_event_open: those of the program itself, not the kernel's, but
   where there are no others. counters.py has the same. */

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
    int kernel; /* those of the kernel, too */
} pw_known_events[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
};

static int pw_event_count; /* asked for, 0 once the kernel refuses */
static int pw_events[EVENTS];
static int pw_event_error; /* why not */

/* Read PERWIZ_COUNTERS: names of events. Unknown ones are left out, perwiz record has refused them. */
static void events_asked(void)
{
    const char *text = getenv("PERWIZ_COUNTERS");
    for (; text && *text; text += strcspn(text, ","), text += *text == ',') {
        size_t length = strcspn(text, ",");
        for (int k = 0; k < (int)(sizeof pw_known_events / sizeof *pw_known_events); k++)
            if (pw_event_count < EVENTS && strlen(pw_known_events[k].name) == length && !strncmp(pw_known_events[k].name, text, length))
                pw_events[pw_event_count++] = k;
    }
}

static int event_open(int k, int group)
{
    struct perf_event_attr what;
    memset(&what, 0, sizeof what);
    what.size = sizeof what;
    what.type = pw_known_events[k].type;
    what.config = pw_known_events[k].config;
    what.exclude_kernel = what.exclude_hv = !pw_known_events[k].kernel;
    what.disabled = group < 0; /* until all are there: those that join a running group may begin late */
    what.read_format = PERF_FORMAT_GROUP;
    return (int)syscall(SYS_perf_event_open, &what, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* Read the group: how many there are, then their values. */
static inline void events_read(Thread *me, int64_t *values)
{
    uint64_t got[1 + EVENTS] = {0};
    if (me->events >= 0 && read(me->events, got, sizeof got) > 0)
        for (int k = 0; k < pw_event_count; k++)
            values[k] = (int64_t)got[1 + k];
}

/* Read the group around what takes no time. */
static inline void events_at_once(Thread *me)
{
    if (LIKELY(!pw_event_count))
        return;
    events_read(me, me->before);
    memcpy(me->after, me->before, sizeof me->after);
}

/* Start counting the events of this thread. If the kernel does not allow it, no thread's are counted. */
static void events_begin(Thread *me)
{
    me->events = -1;
    for (int k = 0; k < pw_event_count; k++) {
        int fd = event_open(pw_events[k], me->events);
        if (fd < 0) {
            pw_event_error = errno;
            pw_event_count = 0;
            return;
        }
        me->events = k ? me->events : fd;
    }
    if (me->events >= 0)
        ioctl(me->events, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    events_read(me, me->begun);
}
