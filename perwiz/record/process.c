/* The directory of a run, and what a process says of itself there. */

/* Return whether the folder of this run can be seen here. */
static int visible(const char *token)
{
    char path[PATH_MAX], text[128] = "";
    snprintf(path, sizeof path, "%s/run.json", pw_folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return count > 0 && strstr(text, token) != NULL;
}

/* Make the folder of this run, unless there is one. */
static void make_folder(const char *token)
{
    char path[PATH_MAX], text[256];
    if (visible(token) || (mkdir(pw_folder, 0777) && errno != EEXIST))
        return;
    snprintf(path, sizeof path, "%s/run.json", pw_folder);
    int count = snprintf(text, sizeof text, "{\"format\":\"perwiz run\",\"version\":1,\"token\":\"%s\"}\n", token);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)count) != count)
        unlink(path);
    close(fd);
}

static void put_environment(Line *line)
{
    int some = 0;
    put(line, ",\"environment\":{");
    for (char **one = environ; *one; one++)
        for (const char *const *prefix = pw_switches; *prefix; prefix++)
            if (!strncmp(*one, *prefix, strlen(*prefix)) && strchr(*one, '=')) {
                char *name = strndup(*one, (size_t)(strchr(*one, '=') - *one));
                put(line, some++ ? "," : "");
                put_string(line, name);
                put(line, ":");
                put_string(line, strchr(*one, '=') + 1);
                free(name);
            }
    put(line, "}");
}

static void put_program(Line *line)
{
    char words[8192] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? 0 : read(fd, words, sizeof words - 1);
    if (fd >= 0)
        close(fd);
    put(line, ",\"program\":[");
    for (char *word = words; word < words + count; word += strlen(word) + 1) {
        put(line, word == words ? "" : ",");
        put_string(line, word);
    }
    put(line, "]");
}

/* Put the processors that this thread may run on, as runs; nothing if they are not told, or time is simulated. */
static void put_processors(Line *line)
{
#ifndef SMPI_H
    enum { SETS = 8 };
    cpu_set_t allowed[SETS];
    int numbers[SETS * CPU_SETSIZE], count = 0;
    if (sched_getaffinity(0, sizeof allowed, allowed))
        return;
    for (int k = 0; k < SETS * CPU_SETSIZE; k++)
        if (CPU_ISSET_S(k, sizeof allowed, allowed))
            numbers[count++] = k;
    put(line, ",\"processors\":");
    put_runs(line, numbers, count);
#else
    (void)line;
#endif
}

static void put_text(Line *line, const char *name, const char *text)
{
    put(line, ",\"%s\":", name);
    put_string(line, text ? text : "");
}

/* Write what this process is: where it began, processes of which clock it shares, on which MPI it runs, if any. */
static void write_process(int64_t begun, uint64_t clock, const char *mpi, const int *version, const char *offsets)
{
    char host[256] = "";
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    int64_t at = now();
    gethostname(host, sizeof host - 1);
    const char *id = getenv("PERWIZ_METAHOST_ID");
    Line line = {0};
    put(&line, "{\"process\":%d,\"first\":%d,\"processes\":%d,\"pid\":%ld,\"begun\":%lld,\"real\":[%lld,%lld],\"clock\":\"%016llx\"", pw_first + pw_rank, pw_first,
        pw_ranks,
        (long)getpid(), (long long)begun, (long long)at, real.tv_sec * 1000000000LL + real.tv_nsec, (unsigned long long)clock);
    put(&line, ",\"cpu\":%d,\"metahost\":%d,\"mpi_version\":[%d,%d]", sched_getcpu(), id ? atoi(id) : 0, version[0], version[1]);
    put_processors(&line);
    put(&line, ",\"threads\":%s", threads_asked() ? "true" : "false");
    put_text(&line, "metahost_name", getenv("PERWIZ_METAHOST_NAME"));
    put_text(&line, "host", host);
    put_text(&line, "mpi", mpi);
    put_text(&line, "offsets", offsets);
    put_program(&line);
    put_environment(&line);
    put(&line, ",\"operations\":[");
    for (int k = 0; k < pw_name_count; k++)
        put(&line, "%s\"%s\"", k ? "," : "", pw_names[k]);
    put(&line, "]}");
    write_line(&line);
}

static int open_definitions(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/definitions-%06d.jsonl", pw_folder, pw_first + pw_rank);
    pw_definitions = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (pw_definitions < 0)
        fprintf(stderr, "perwiz: %s: cannot be written: %s; rank %d is not recorded\n", path, strerror(errno), pw_first + pw_rank);
    return pw_definitions < 0;
}

static void in_child(void)
{
    pw_state = OVER;
    pw_me = NULL;
}

static void close_files(void)
{
    pw_state = OVER;
    openmp_settle();
    for (Thread *one = pw_threads; one; one = one->following)
        end_thread(one);
    pw_me = NULL;
    if (pw_definitions >= 0)
        close(pw_definitions);
    pw_definitions = -1;
}

/* Write what is counted, in the order of the values in a row. */
static void write_counters(void)
{
    Line line = {0};
    if (!pw_event_count)
        return;
    put(&line, "{\"counters\":[");
    for (int k = 0; k < pw_event_count; k++)
        put(&line, "%s\"%s\"", k ? "," : "", pw_known_events[pw_events[k]].name);
    put(&line, "]}");
    write_line(&line);
}
