/* Counters only: the record of a run, written by rank 0 in MPI_Finalize. Its form is that of R. Rabenseifner, Automatic MPI Counter
   Profiling, 2000, figure 3: averages of the processes. Below each routine are its exact sums over all processes. */

extern char **environ;
static const char *const pw_switches[] = {"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "UCX_", "FI_", "SMPI_", "OMP_", "PERWIZ_", NULL};

/* Set by the launcher for itself: of no interest to who reads the record. */
static const char *const pw_no_switches[] = {"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir", "OMPI_MCA_prte_",
    "OMPI_MCA_shmem_RUNTIME", "OMPI_MCA_hwloc", "PMIX_MCA_mca_base", "PERWIZ_", NULL};

static double pw_tick = 1;         /* ns of a unit of the clock */
static time_t pw_began;            /* time of day */
static double pw_cost, pw_request_cost; /* of a call, and what one with a request costs more; in units of the clock */

/* What is summed over the processes beside the counters. */
typedef struct {
    int64_t all, own, threads, calls, requests, refused, error;
    int64_t inside[EVENTS], total[EVENTS];
} Figures;

/* Count in ticks from now on: how long one is will be known at the end, and nobody has to wait for it. */
static void profile_clock(void)
{
#ifndef SMPI_H
    if (counter_trusted()) {
        pw_clock.ticks = pw_first_ticks;
        pw_clock.time = 0;
        pw_clock.scale = (uint64_t)1 << 32;
        pw_clock.counter = 1;
    }
#endif
}

static void find_tick(void)
{
#ifndef SMPI_H
    uint64_t ticks = 0;
    int64_t time = 0;
    if (!pw_clock.counter)
        return;
    read_both(&ticks, &time);
    if (ticks > pw_first_ticks)
        pw_tick = (double)(time - pw_first_time) / (double)(ticks - pw_first_ticks);
#endif
}

/* Count calls that are none, with or without a request; return how long one took. */
static double count_nothing(Thread *me, int request)
{
    enum { TIMES = 100 };
    int64_t from = now();
    for (int k = 0; k < TIMES && enter(R_Isend, NULL); k++) {
        Call *call = leave(me, MPI_SUCCESS);
        sent(me, call, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (request) {
            post(call, (MPI_Request)(uintptr_t)1);
            taken(me, KEY((uintptr_t)1));
        }
        commit_of(me, 1);
    }
    return (double)(now() - from) / TIMES;
}

/* Measure what counting costs a call: the shortest of some loops. Forget them afterwards. */
static void measure_cost(Thread *me)
{
    double with = 0;
    for (int k = 0; k < 5; k++) {
        double plain = count_nothing(me, 0), more = count_nothing(me, 1);
        pw_cost = k && pw_cost < plain ? pw_cost : plain;
        with = k && with < more ? with : more;
    }
    pw_request_cost = with > pw_cost ? with - pw_cost : 0;
    memset(me->table, 0, (size_t)pw_name_count * sizeof *me->table);
    memset(me->inside, 0, sizeof me->inside);
    pw_ids = 0;
}

/* Tell perwiz record how it went, or without it, the user what went wrong. */
static void say(const char *what, const char *where, int error)
{
    const char *path = getenv("PERWIZ_NOTE");
    char text[PATH_MAX + 256];
    int count = snprintf(text, sizeof text, "%s\n", what);
    if (error)
        count = snprintf(text, sizeof text, "%s: cannot be written: %s\n", where, strerror(error));
    if (path && *path) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0 || write(fd, text, (size_t)count) != count)
            error = error ? error : -1;
        if (fd >= 0)
            close(fd);
    } else if (error)
        fprintf(stderr, "perwiz: %s", text);
}

static void profile_begins(int64_t since)
{
    pw_began = time(NULL);
    if (pw_rank == 0)
        say("begun", "", 0);
    events_asked();
    Thread *me = start_thread();
    comm_of(me, MPI_COMM_WORLD);
    measure_cost(me);
    me->since = since;
}

/* ---- combining */

/* Return the names of this process's regions, one after the other. */
static Line own_names(void)
{
    Line out = {0};
    for (int k = 0; k < pw_region_count && k + 1 < PHASES; k++) {
        put(&out, "%s", pw_regions[k].name);
        out.used++; /* the 0 behind it */
    }
    return out;
}

/* Return all names in `text`, each once, as many as there is room for. */
static Line unite(const char *text, size_t size, int *count)
{
    Line out = {0};
    const char *names[PHASES];
    *count = 0;
    for (const char *name = text; name < text + size; name += strlen(name) + 1) {
        int k = 0;
        while (k < *count && strcmp(names[k], name))
            k++;
        if (k < *count || *count + 1 >= PHASES)
            continue;
        names[(*count)++] = name;
        put(&out, "%s", name);
        out.used++;
    }
    return out;
}

/* Agree on the names of the regions of all processes; return them one after the other. */
static char *all_names(int *count)
{
    Line own = own_names(), all = {0};
    int length = (int)own.used, total = 0, *lengths = memory(NULL, 2 * (size_t)pw_ranks * sizeof *lengths), *places = lengths + pw_ranks;
    PMPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, pw_comm);
    for (int k = 0; pw_rank == 0 && k < pw_ranks; k++) {
        places[k] = total;
        total += lengths[k];
    }
    char *text = memory(NULL, (size_t)total + 1);
    PMPI_Gatherv(own.text ? own.text : "", length, MPI_CHAR, text, lengths, places, MPI_CHAR, 0, pw_comm);
    if (pw_rank == 0)
        all = unite(text, (size_t)total, count);
    int both[2] = {*count, (int)all.used};
    PMPI_Bcast(both, 2, MPI_INT, 0, pw_comm);
    *count = both[0];
    text = memory(text, (size_t)both[1] + 1);
    if (pw_rank == 0 && all.used)
        memcpy(text, all.text, all.used);
    PMPI_Bcast(text, both[1], MPI_CHAR, 0, pw_comm);
    free(own.text);
    free(all.text);
    free(lengths);
    return text;
}

/* Sum the counters of one region over the processes, which know it as `name`; NULL: outside of all. Its time stands first. */
static Counter *sum_phase(const char *name, int64_t *wall)
{
    Counter *own = new_table(), *all = new_table();
    int64_t time = name ? 0 : pw_walls[0];
    if (!name && pw_sums[0])
        add_table(own, pw_sums[0]);
    for (int k = 0; name && k < pw_region_count && k + 1 < PHASES; k++)
        if (!strcmp(pw_regions[k].name, name)) {
            time += pw_walls[k + 1];
            if (pw_sums[k + 1])
                add_table(own, pw_sums[k + 1]);
        }
    for (int k = 0; k < pw_name_count; k++)
        own[k].time = (int64_t)((double)own[k].time * pw_tick);
    time = (int64_t)((double)time * pw_tick);
    PMPI_Reduce(own, all, (int)((size_t)pw_name_count * sizeof *own / sizeof(int64_t)), MPI_INT64_T, MPI_SUM, 0, pw_comm);
    PMPI_Reduce(&time, wall, 1, MPI_INT64_T, MPI_SUM, 0, pw_comm);
    free(own);
    return all;
}

/* ---- writing */

static void put_plain(Line *line, const char *text)
{
    for (; *text; text++)
        put(line, "%c", (unsigned char)*text < 32 ? '?' : *text);
}

static void put_sizes(Line *line, const Counter *one)
{
    put(line, " sizes=");
    for (int k = 0; k < SIZES; k++)
        if (one->sizes[k])
            put(line, " %lld:%lld", k ? 1LL << (k - 1) : 0LL, (long long)one->sizes[k]);
}

static void put_routine(Line *line, int op, const Counter *one)
{
    char name[64] = "", calls[32];
    const char *full = pw_names[op] + (strncmp(pw_names[op], "MPI_", 4) ? 0 : 4);
    for (int k = 0; full[k] && k < 63; k++) {
        char letter = full[k];
        name[k] = letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
    }
    snprintf(calls, sizeof calls, one->calls % pw_ranks ? "%.1f" : "%.0f", (double)one->calls / pw_ranks);
    put(line, "%-24s %9s calls %.2e sec", name, calls, (double)one->time / pw_ranks * 1e-9);
    if (one->count)
        put(line, " cnt= %.1e", (double)one->count / pw_ranks);
    if (one->bytes)
        put(line, " lng= %.2e", (double)one->bytes / pw_ranks);
    put(line, "\n  total %lld calls", (long long)one->calls);
    if (one->count)
        put(line, " cnt= %lld", (long long)one->count);
    if (one->bytes) {
        put(line, " sent= %lld received= %lld", (long long)one->sent, (long long)one->received);
        put_sizes(line, one);
    }
    put(line, "\n");
}

/* Put the routines that were called, those of the beginning and the end last; return the time in all. */
static int64_t put_routines(Line *line, const Counter *sums)
{
    int64_t time = 0;
    for (int k = R_Pcontrol + 1; k < R_Pcontrol + 1 + pw_name_count - OP_FIRST; k++) {
        int op = k < pw_name_count ? k : k - pw_name_count + OP_FIRST;
        if (sums[op].calls)
            put_routine(line, op, &sums[op]);
        time += sums[op].time;
    }
    return time;
}

static void put_times(Line *line, int64_t mpi, int64_t all)
{
    double inside = (double)mpi * 1e-9, whole = (double)all * 1e-9;
    put(line, "time [sec]          mpi= %.2e / all= %.2e = %.1e\n", inside / pw_ranks, whole / pw_ranks, whole > 0 ? inside / whole : 0);
    put(line, "time * size         mpi= %.2e / all= %.2e\n", inside, whole);
}

static void put_overhead(Line *line, const Figures *sum)
{
    double own = (double)sum->own * 1e-9 / pw_ranks, all = (double)sum->all * 1e-9 / pw_ranks;
    put(line, "profiling overhead= %.2e sec = time_all* %.1e (%.0f ns a call, %.0f more with a request)\n", own, all > 0 ? own / all : 0,
        pw_cost * pw_tick, pw_request_cost * pw_tick);
    if (sum->threads > pw_ranks)
        put(line, "threads= %lld on all PEs; times of MPI are sums over threads\n", (long long)sum->threads);
}

static void put_events(Line *line, const Figures *sum)
{
    const char *asked = getenv("PERWIZ_COUNTERS");
    if (!asked || !*asked)
        return;
    if (sum->refused) {
        put(line, "counters: %s: not counted: the kernel or the processor does not allow it on %lld of %d PEs (perf_event_open: %s)\n", asked,
            (long long)sum->refused, pw_ranks, strerror((int)sum->error));
        return;
    }
    double all = (double)sum->all * 1e-9;
    for (int k = 0; k < pw_event_count; k++) {
        double inside = (double)sum->inside[k], outside = (double)(sum->total[k] - sum->inside[k]);
        put(line, "%-18s outside mpi= %.3e / inside mpi= %.3e / all= %.2e per sec\n", pw_known_events[pw_events[k]].name, outside / pw_ranks,
            inside / pw_ranks, all > 0 ? (outside + inside) / all : 0);
    }
}

static int listed(const char *word, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (!strncmp(word, *prefixes, strlen(*prefixes)))
            return 1;
    return 0;
}

static void put_switches(Line *line)
{
    for (char **one = environ; *one; one++)
        if (listed(*one, pw_switches) && !listed(*one, pw_no_switches)) {
            put(line, "environment ");
            put_plain(line, *one);
            put(line, "\n");
        }
}

static void put_head(Line *line)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", words[1024] = "";
    int length, fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? 0 : read(fd, words, sizeof words - 1);
    if (fd >= 0)
        close(fd);
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    for (char *p = version; *p; p++)
        *p = *p == '\t' ? ' ' : *p;
    put(line, "size = n = %d uid=%ld %s / avg. on each PE:\nargv[0] = ", pw_ranks, (long)getuid(), version);
    put_plain(line, count > 0 ? words : "?");
    put(line, "\nlanguage= %s\n", pw_fortran ? "Fortran" : "C");
}

static void put_time_of_day(Line *line)
{
    char begun[64], ended[64];
    struct tm parts;
    time_t last = time(NULL);
    strftime(begun, sizeof begun, "%Y-%m-%dT%H:%M:%S%z", localtime_r(&pw_began, &parts));
    strftime(ended, sizeof ended, "%Y-%m-%dT%H:%M:%S%z", localtime_r(&last, &parts));
    put(line, "time of day         init= %s / finalize= %s\n", begun, ended);
}

/* Put the time as syslog has it. */
static void put_date(Line *line)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t last = time(NULL);
    struct tm at;
    localtime_r(&last, &at);
    put(line, "%.3s %2d %02d:%02d:%02d", months + 3 * at.tm_mon, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
}

/* Append the record to a file, whole or not at all; return 0 or errno. */
static int to_file(const Line *record, const char *path)
{
    char host[256] = "";
    Line line = {0};
    gethostname(host, sizeof host - 1);
    put_date(&line);
    put(&line, " %s perwiz: B <%ld>\n%.*s", host, (long)getpid(), (int)record->used, record->text);
    put_date(&line);
    put(&line, " %s perwiz: E <%ld>\n", host, (long)getpid());
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666), error = 0;
    if (fd < 0) {
        free(line.text);
        return errno;
    }
    flock(fd, LOCK_EX);
    struct stat before;
    fstat(fd, &before);
    ssize_t count = write(fd, line.text, line.used);
    if (count != (ssize_t)line.used) {
        error = count < 0 ? errno : ENOSPC;
        if (S_ISREG(before.st_mode) && ftruncate(fd, before.st_size))
            error = errno;
    }
    if (close(fd) && !error)
        error = errno;
    free(line.text);
    return error;
}

static int syslog_open(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    for (int k = 0; k < 2; k++) {
        int fd = socket(AF_UNIX, (k ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
        struct timeval patience = {2, 0};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (fd < 0 || connect(fd, (const void *)&to, sizeof to) == 0)
            return fd;
        int error = errno;
        close(fd);
        errno = error;
        if (error != EPROTOTYPE)
            return -1;
    }
    return -1;
}

/* Send the record to syslog, a line a message, each with this process's number; return 0 or errno. */
static int to_syslog(const Line *record, const char *path)
{
    int fd = syslog_open(path), error = 0;
    if (fd < 0)
        return errno;
    Line all = {0};
    put(&all, "B <%ld>\n%.*sE <%ld>\n", (long)getpid(), (int)record->used, record->text, (long)getpid());
    for (char *from = all.text; *from && !error; from += strcspn(from, "\n") + 1) {
        Line message = {0};
        put(&message, "<14>"); /* from a user's program, informational */
        put_date(&message);
        put(&message, " perwiz[%ld]: %.*s", (long)getpid(), (int)strcspn(from, "\n"), from);
        if (send(fd, message.text, message.used + 1, MSG_NOSIGNAL) < 0)
            error = errno;
        free(message.text);
    }
    close(fd);
    free(all.text);
    return error;
}

static void write_record(const Line *record)
{
    const char *where = getenv("PERWIZ_PROFILE"), *path = getenv("PERWIZ_PROFILE_FILE"), *log = getenv("PERWIZ_SYSLOG");
    path = path && *path ? path : "perwiz-profile.txt";
    log = log && *log ? log : "/dev/log";
    int both = !strcmp(where, "both"), file = both || !strcmp(where, "file"), syslog = both || !strcmp(where, "syslog");
    if (file)
        say("file", path, to_file(record, path));
    if (syslog)
        say("syslog", log, to_syslog(record, log));
    if (!file && !syslog)
        fprintf(stderr, "perwiz: PERWIZ_PROFILE=%s: no record, must be file, syslog or both\n", where);
}

/* ---- the end */

static Figures figures(int64_t since)
{
    Figures own = {.threads = pw_counted_threads, .requests = pw_ids, .refused = pw_event_error != 0, .error = pw_event_error}, sum, most;
    for (int p = 0; p < PHASES; p++)
        for (int k = 0; pw_sums[p] && k < pw_name_count; k++)
            own.calls += pw_sums[p][k].calls;
    for (int p = 0; p < PHASES; p++)
        own.all += pw_walls[p];
    double cost = (double)own.calls * pw_cost + (double)own.requests * pw_request_cost + (double)(pw_profile_cost + now() - since);
    own.all = (int64_t)((double)own.all * pw_tick);
    own.own = (int64_t)(cost * pw_tick);
    memcpy(own.inside, pw_inside, sizeof pw_inside);
    memcpy(own.total, pw_total, sizeof pw_total);
    PMPI_Reduce(&own, &sum, sizeof own / sizeof(int64_t), MPI_INT64_T, MPI_SUM, 0, pw_comm);
    PMPI_Reduce(&own, &most, sizeof own / sizeof(int64_t), MPI_INT64_T, MPI_MAX, 0, pw_comm);
    sum.error = most.error;
    return sum;
}

/* Combine what the processes have counted in a region and put it; add it to `sums` and `time`. */
static void put_phase(Line *line, const char *name, int several, Counter *sums, int64_t *time)
{
    int64_t wall = 0;
    Counter *part = sum_phase(name, &wall);
    if (pw_rank == 0) {
        add_table(sums, part);
        *time += wall;
        if (several) {
            put(line, "subtotal ");
            put_plain(line, name ? name : "outside");
            put(line, "\n");
            put_times(line, put_routines(line, part), wall);
        }
    }
    free(part);
}

/* MPI is about to be finalised: MPI_Finalize counts until all processes are there. */
static void profile_ends(void)
{
    Thread *me = pw_me;
    PMPI_Barrier(pw_comm);
    int64_t since = now(), time = 0;
    if (me && me->depth == 1) {
        leave(me, MPI_SUCCESS);
        commit(me);
        me->depth = 1;
    }
    find_tick();
    for (Thread *one = pw_threads; one; one = one->following)
        count_ended(one, since);
    int count = 0;
    char *names = all_names(&count);
    Counter *sums = new_table();
    Line parts = {0}, record = {0};
    const char *name = names;
    put_phase(&parts, NULL, count, sums, &time);
    for (int k = 0; k < count; k++, name += strlen(name) + 1)
        put_phase(&parts, name, count, sums, &time);
    Figures all = figures(since);
    if (pw_rank == 0) {
        put_head(&record);
        put_times(&record, put_routines(&record, sums), time);
        put_overhead(&record, &all);
        put_time_of_day(&record);
        put_events(&record, &all);
        put_switches(&record);
        put(&record, "%.*s", (int)parts.used, parts.text ? parts.text : "");
        write_record(&record);
    }
    free(names);
    free(sums);
    free(parts.text);
    free(record.text);
    if (me)
        me->table = new_table(); /* for what comes after the record */
}
