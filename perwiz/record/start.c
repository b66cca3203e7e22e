/* From the first initialisation of MPI to the last finalisation: where to write, who writes, and what the process is. */

static int pw_open;     /* initialisations, MPI_Init and sessions, that were not finalised */
static int pw_has_session;

/* All agree on folders: rank 0 makes one, then the master of every metahost that does not see it, then every node's. Return whether all see
   one; without a communicator, whether this process does. */
static int agree_on_folder(void)
{
    const char *token = getenv("PERWIZ_TOKEN");
    char text[64] = "";
    snprintf(text, sizeof text, "%.60s", token ? token : "");
    if (pw_comm == MPI_COMM_NULL)
        make_folder(text);
    else {
        PMPI_Bcast(text, sizeof text, MPI_CHAR, 0, pw_comm);
        if (pw_rank == 0)
            make_folder(text);
        PMPI_Barrier(pw_comm);
        if (leader(pw_rank, 1) == pw_rank)
            make_folder(text);
        PMPI_Barrier(pw_comm);
        if (leader(pw_rank, 0) == pw_rank)
            make_folder(text);
        PMPI_Barrier(pw_comm);
    }
    int mine = visible(text), all = mine;
    if (pw_comm != MPI_COMM_NULL)
        PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, pw_comm);
    if (!mine)
        fprintf(stderr, "perwiz: %s: rank %d cannot make this directory, or another run's lies there\n", pw_folder, pw_rank);
    return all;
}

static void read_clock_error(int64_t since)
{
    const char *text = getenv("PERWIZ_CLOCK_ERRORS");
    const char *from = getenv("PERWIZ_CLOCK_START");
    for (; text && *text; text = strchr(text, ';') ? strchr(text, ';') + 1 : NULL) {
        int rank;
        double offset, drift = 0, wander = 0, period = 0;
        if (sscanf(text, "%d:%lf:%lf:%lf:%lf", &rank, &offset, &drift, &wander, &period) >= 2) {
            pw_wrong = 1; /* on all ranks: none shares a clock with another */
            if (rank == pw_rank) {
                pw_error.offset = offset;
                pw_error.drift = drift;
                pw_error.wander = wander;
                pw_error.period = period;
            }
        }
    }
    pw_error.since = from ? atoll(from) : since;
}

/* Learn where all processes are; without a communicator, where this one is. */
static void read_places(void)
{
    const char *id = getenv("PERWIZ_METAHOST_ID"), *scheme = getenv("PERWIZ_OFFSETS"), *uneven = getenv("PERWIZ_UNEVEN_LINKS");
    Place mine = {clock_id(), id ? hash(id, 1) : 0};
    for (int k = 0; scheme && k < SCHEMES; k++)
        if (!strcmp(scheme, pw_scheme_names[k]))
            pw_scheme = k;
    pw_uneven = uneven ? atoll(uneven) : 0;
    pw_places = memory(pw_places, (size_t)pw_ranks * sizeof *pw_places);
    pw_places[pw_rank] = mine;
    if (pw_comm != MPI_COMM_NULL)
        PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, pw_places, sizeof mine, MPI_BYTE, pw_comm);
}

/* Number the processes of a world that others have spawned behind all that there are. Every world enters its size into a file of the run. */
static void read_first(void)
{
    char path[PATH_MAX], text[16] = "";
    MPI_Comm parent = MPI_COMM_NULL;
#ifndef SMPI_H
    PMPI_Comm_get_parent(&parent);
#endif
    snprintf(path, sizeof path, "%s/worlds", pw_folder);
    int fd = pw_rank ? -1 : open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) {
        flock(fd, LOCK_EX);
        for (off_t at = 0; parent != MPI_COMM_NULL && pread(fd, text, 12, at) == 12; at += 12)
            pw_first += atoi(text);
        dprintf(fd, "%11d\n", pw_ranks);
        close(fd);
    }
    PMPI_Bcast(&pw_first, 1, MPI_INT, 0, pw_comm);
}

/* Return whether this is the outermost initialisation of a run to be recorded. */
static int before_init(int op, int64_t *since)
{
    const char *folder = getenv("PERWIZ_DIR"), *window = getenv("PERWIZ_WINDOW"), *where = getenv("PERWIZ_PROFILE");
    int tracing = folder && *folder;
    if (pw_state != BEFORE || (!tracing && (op == R_Session_init || !(where && *where))))
        return 0; /* counters are combined in MPI_Finalize */
    pw_state = STARTING;
    pw_profiling = !tracing;
    snprintf(pw_folder, sizeof pw_folder, "%s", tracing ? folder : "");
    if (window && atol(window) >= PAGE)
        pw_window = (size_t)atol(window);
    read_both(&pw_first_ticks, &pw_first_time);
    if (pw_profiling)
        profile_clock();
    *since = true_now();
    return 1;
}

/* What every recorder of this process needs to know of MPI. */
static void introduce(void)
{
    int provided;
    PMPI_Query_thread(&provided);
    pw_locking = provided == MPI_THREAD_MULTIPLE;
    PMPI_Comm_rank(MPI_COMM_WORLD, &pw_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &pw_ranks);
    PMPI_Comm_dup(MPI_COMM_WORLD, &pw_comm);
    PMPI_Comm_group(MPI_COMM_WORLD, &pw_world_group);
}

#ifdef MPI_SESSION_NULL
static MPI_Session pw_session; /* the recorder's own, where there is no world: the program's may end before others */

/* The same where there are only sessions: other processes may have none, so nobody is asked for anything. */
static void introduce_session(void)
{
    pw_locking = pw_has_session = 1;
    PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &pw_session);
    PMPI_Group_from_session_pset(pw_session, "mpi://WORLD", &pw_world_group);
    PMPI_Group_rank(pw_world_group, &pw_rank);
    PMPI_Group_size(pw_world_group, &pw_ranks);
}
#endif

static void introduce_process(int64_t since)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, version[2];
    PMPI_Get_library_version(mpi, &length);
    PMPI_Get_version(&version[0], &version[1]);
    write_process(since, pw_places[pw_rank].clock, mpi, version, pw_scheme_names[pw_scheme]);
}

/* Open the files of a trace; return whether all processes could. */
static int tracing_begins(int64_t since)
{
    int with_others = pw_comm != MPI_COMM_NULL;
    read_places();
    if (with_others)
        share_counter();
    int agreed = agree_on_folder();
    if (!agreed && with_others)
        PMPI_Abort(MPI_COMM_WORLD, 3);
    if (!agreed)
        return 0;
    if (with_others)
        read_first();
    events_asked();
    int failed = open_definitions(), any = failed;
    if (!failed) {
        introduce_process(since);
        if (with_others)
            comm_new(MPI_COMM_WORLD, NOBODY, 0, "world");
        write_modules();
        write_counters();
        openmp_regions();
    }
    if (with_others) {
        PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, pw_comm);
        if (!any)
            measure_clocks("init");
        pw_compared = 1;
    }
    return !any;
}

/* MPI is there: start recording, the call that initialised it first. In a trace that lasts until all record: what that took is no computation
   of the program, and on no process longer than on others. */
static void after_init(int op, int code, int64_t since, void *site)
{
    pw_state = code == MPI_SUCCESS ? OVER : BEFORE;
    if (code != MPI_SUCCESS)
        return;
    int64_t until = true_now(), from = until;
    if (pw_profiling) { /* so that waiting for others does not seem to be overhead */
        PMPI_Barrier(MPI_COMM_WORLD);
        from = true_now();
    }
    if (op != R_Session_init)
        introduce();
#ifdef MPI_SESSION_NULL
    else
        introduce_session();
#endif
    if (!pw_profiling)
        read_clock_error(since);
    if (pw_wrong)
        since = pw_distort(since);
    if (!pw_profiling && !tracing_begins(since))
        return;
    pthread_key_create(&pw_ending, end_thread);
    pthread_atfork(NULL, NULL, in_child);
    pw_state = ON;
    if (pw_profiling)
        profile_begins(since);
    Thread *me = enter(op, site);
    if (!pw_profiling && pw_comm != MPI_COMM_NULL)
        PMPI_Barrier(pw_comm);
    if (!me)
        return;
    Call *call = leave(me, code);
    call->enter = since;
    if (pw_profiling)
        call->leave = until;
    commit(me);
    pw_profile_cost = now() - from;
}

/* There is a communicator of all processes: compare their clocks. */
static void all_met(MPI_Comm all)
{
    int own = pw_comm == MPI_COMM_NULL;
    if (own)
        PMPI_Comm_dup(all, &pw_comm);
    read_places();
    measure_clocks("init");
    pw_compared = 1;
    if (own)
        PMPI_Comm_free(&pw_comm);
}

/* MPI_Init after a session began: there is a world now. */
static void world_met(Thread *me)
{
    if (!me)
        return;
    me->depth++;
    PMPI_Comm_dup(MPI_COMM_WORLD, &pw_comm);
    if (!pw_compared)
        all_met(pw_comm);
    lock();
    comm_new(MPI_COMM_WORLD, NOBODY, 0, "world");
    unlock();
    me->depth--;
}

#ifdef MPI_SESSION_NULL
static void session_begins(MPI_Session session)
{
    char level[32] = "MPI_THREAD_MULTIPLE";
    int found = 0, size = sizeof level;
    MPI_Info info;
    if (PMPI_Session_get_info(session, &info) == MPI_SUCCESS) {
        PMPI_Info_get_string(info, "thread_level", &size, level, &found);
        PMPI_Info_free(&info);
    }
    pw_single &= strcmp(level, "MPI_THREAD_MULTIPLE") != 0;
    pw_locking = 1;
}
#endif

/* MPI was initialised, the first time or again. */
static void initialised(int op, int first, Thread *me, int code, int64_t since, void *site)
{
    if (first)
        after_init(op, code, since, site);
    if (me) {
        leave(me, code);
        commit(me);
    }
    if (pw_state != ON || code != MPI_SUCCESS)
        return;
    int again = __atomic_fetch_add(&pw_open, 1, __ATOMIC_RELAXED) == 0 && !first;
#ifdef MPI_SESSION_NULL
    if (again)
        introduce_session();
#endif
    if (!first && op != R_Session_init)
        world_met(me);
    (void)again;
}

/* Before MPI_Finalize (`world`) or the end of a session: what needs MPI, and with the last of them the last definitions. Return whether that
   is the last. */
static int before_finalize(int world)
{
    if (pw_state != ON)
        return 0;
    int last = __atomic_sub_fetch(&pw_open, 1, __ATOMIC_RELAXED) == 0;
    if (world && pw_comm != MPI_COMM_NULL) {
        if (pw_profiling)
            profile_ends();
        else if (pw_scheme != SINGLE)
            measure_clocks("finalize");
        PMPI_Comm_free(&pw_comm);
    }
    if (last || !pw_has_session)
        PMPI_Group_free(&pw_world_group);
#ifdef MPI_SESSION_NULL
    if (!last && !pw_has_session)
        introduce_session();
#endif
    if (last && !pw_profiling) {
        write_modules();
        write_runtime();
    }
    return last;
}

/* After the last of them. Sessions may begin again: where there are any, files are closed when the process ends. */
static void after_finalize(void)
{
    Line line = {0};
    put(&line, "{\"ended\":%lld}", (long long)now());
    write_line(&line);
#ifdef MPI_SESSION_NULL
    if (pw_has_session)
        PMPI_Session_finalize(&pw_session);
    pw_has_session = 0;
#else
    close_files();
#endif
}

#ifdef MPI_SESSION_NULL
static void __attribute__((destructor)) process_ends(void)
{
    if (pw_state == ON && !pw_open)
        close_files();
}
#endif
