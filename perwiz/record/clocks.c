/* Clock offsets by Cristian's remote clock reading: of many exchanges the one with the shortest round trip counts. Written, not applied. */

enum { EXCHANGES = 20, CLOCK_TAG = 1 };

typedef struct {
    uint64_t clock, metahost; /* what is the same for processes that share one */
} Place;

/* Who compares clocks with whom, and when. Flat: all with rank 0, once in MPI_Init, or again in MPI_Finalize. Hierarchical: with the master
   of their metahost, and those with rank 0, both times. ALL: flat and hierarchical. */
enum { SINGLE, FLAT, HIERARCHICAL, ALL, SCHEMES };
static const char *const pw_scheme_names[SCHEMES] = {"single", "flat", "hierarchical", "all"};
static int pw_scheme = HIERARCHICAL;

static Place *pw_places;    /* per rank */
static int64_t pw_uneven;   /* for tests: between metahosts one way takes up to so many ns longer than the other */
static MPI_Comm pw_comm = MPI_COMM_NULL; /* the recorder's own */

/* Return a number that processes have in common exactly if their clocks are one: same boot, same time namespace, no error added. */
static uint64_t clock_id(void)
{
    char text[256] = "";
    uint64_t sum = 14695981039346656037u;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        gethostname(text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    sum = hash(text, sum);
    memset(text, 0, sizeof text);
    if (readlink("/proc/self/ns/time", text, sizeof text - 1) > 0)
        sum = hash(text, sum);
    return pw_wrong ? sum + (uint64_t)pw_rank + 1 : sum;
}

/* Return the lowest rank whose clock (or metahost) is that of `rank`. */
static int leader(int rank, int metahost)
{
    for (int k = 0; k < rank; k++)
        if (metahost ? pw_places[k].metahost == pw_places[rank].metahost : pw_places[k].clock == pw_places[rank].clock)
            return k;
    return rank;
}

/* Return with whom a rank compares its clock under the flat or the hierarchical scheme, or itself: with nobody. */
static int master_of(int rank, int scheme)
{
    if (leader(rank, 0) != rank)
        return rank; /* it shares the clock of a lower rank */
    int master = scheme == HIERARCHICAL ? leader(rank, 1) : 0;
    return master == rank ? 0 : master;
}

/* Read counter and clock at the same moment, as nearly as can be. */
static void read_both(uint64_t *counter, int64_t *time)
{
    uint64_t shortest = UINT64_MAX;
    for (int k = 0; k < 50; k++) {
        uint64_t from = ticks();
        int64_t between = system_now();
        uint64_t to = ticks();
        if (to - from < shortest) {
            shortest = to - from;
            *counter = from + shortest / 2;
            *time = between;
        }
    }
}

static uint64_t pw_first_ticks;
static int64_t pw_first_time;

#ifndef SMPI_H
/* Return whether the kernel itself trusts the counter: it is the same on all processors and does not stop. */
static int counter_trusted(void)
{
    char text[32] = "";
    const char *off = getenv("PERWIZ_CLOCK");
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t count = read(fd, text, sizeof text - 1);
    close(fd);
    return ticks() && count >= 4 && !strcmp(text, "tsc\n") && !(off && !strcmp(off, "system"));
}
#endif

/* The lowest rank of every node finds how long a tick is; the others take it over. Needs read_both() at the start of MPI_Init. */
static void share_counter(void)
{
#ifndef SMPI_H
    enum { LONG_ENOUGH = 50000000 };
    uint64_t last_ticks;
    int64_t last_time, wait = LONG_ENOUGH - (system_now() - pw_first_time);
    int first = leader(pw_rank, 0);
    if (first == pw_rank && !pw_wrong && counter_trusted()) {
        if (wait > 0)
            nanosleep(&(struct timespec){0, wait}, NULL);
        read_both(&last_ticks, &last_time);
        pw_clock.ticks = pw_first_ticks;
        pw_clock.time = pw_first_time;
        pw_clock.scale = (uint64_t)((double)(last_time - pw_first_time) / (double)(last_ticks - pw_first_ticks) * 4294967296.0 + 0.5);
        pw_clock.counter = 1;
    }
    if (first != pw_rank)
        PMPI_Recv(&pw_clock, sizeof pw_clock, MPI_BYTE, first, CLOCK_TAG, pw_comm, MPI_STATUS_IGNORE);
    else
        for (int k = pw_rank + 1; k < pw_ranks; k++)
            if (leader(k, 0) == pw_rank)
                PMPI_Send(&pw_clock, sizeof pw_clock, MPI_BYTE, k, CLOCK_TAG, pw_comm);
#endif
}

/* For tests: return how much longer a slave's message to a master in another metahost takes than the answer, ns; negative: the answer does. */
static int64_t unevenness(int slave, int master, const char *when)
{
    char text[64];
    if (!pw_uneven || pw_places[slave].metahost == pw_places[master].metahost)
        return 0;
    snprintf(text, sizeof text, "%d %s %d", slave, when, slave);
    return (int64_t)(hash(text, 14695981039346656037u) % 2001) * pw_uneven / 1000 - pw_uneven;
}

static void let_pass(int64_t time)
{
    for (int64_t end = true_now() + time; true_now() < end;)
        ;
}

static void answer(int slave, int64_t longer)
{
    for (int k = 0; k < EXCHANGES; k++) {
        int64_t time;
        PMPI_Recv(&time, 1, MPI_INT64_T, slave, CLOCK_TAG, pw_comm, MPI_STATUS_IGNORE);
        let_pass(longer);
        time = now();
        let_pass(-longer);
        PMPI_Send(&time, 1, MPI_INT64_T, slave, CLOCK_TAG, pw_comm);
    }
}

static void ask(int master, const char *when)
{
    int64_t trip = INT64_MAX, at = 0, offset = 0;
    for (int k = 0; k < EXCHANGES; k++) {
        int64_t from = now(), its = 0;
        PMPI_Send(&from, 1, MPI_INT64_T, master, CLOCK_TAG, pw_comm);
        PMPI_Recv(&its, 1, MPI_INT64_T, master, CLOCK_TAG, pw_comm, MPI_STATUS_IGNORE);
        int64_t to = now();
        if (to - from < trip) {
            trip = to - from;
            at = from + trip / 2;
            offset = its - at;
        }
    }
    Line line = {0};
    put(&line, "{\"offset\":%lld,\"time\":%lld,\"round_trip\":%lld,\"master\":%d,\"when\":\"%s\"}", (long long)offset, (long long)at,
        (long long)trip, pw_first + master, when);
    write_line(&line);
}

static void compare(int slave, int master, const char *when)
{
    if (pw_rank == master && master != slave)
        answer(slave, unevenness(slave, master, when));
    else if (pw_rank == slave && master != slave)
        ask(master, when);
}

/* Measure: one slave of a master after the other, so that they do not disturb each other. */
static void measure_clocks(const char *when)
{
    int shared = 1;
    for (int k = 1; k < pw_ranks; k++)
        shared &= pw_places[k].clock == pw_places[0].clock;
    if (shared)
        return;
    PMPI_Barrier(pw_comm);
    for (int slave = 1; slave < pw_ranks; slave++) {
        int flat = master_of(slave, FLAT), near = master_of(slave, HIERARCHICAL);
        if (pw_scheme != HIERARCHICAL)
            compare(slave, flat, when);
        if (pw_scheme == HIERARCHICAL || (pw_scheme == ALL && near != flat))
            compare(slave, near, when);
    }
    PMPI_Barrier(pw_comm);
}
