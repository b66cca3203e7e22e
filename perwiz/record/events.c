/* Events counted by the processor or the kernel for this thread, through perf_event_open: those of the program itself, not the kernel's. */

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} pw_known_events[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
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
    what.exclude_kernel = what.exclude_hv = 1;
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
    events_read(me, me->begun);
}
