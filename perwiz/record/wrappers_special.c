/* Wrappers written out: those that begin and end a run, and what Fortran needs to be read. */

/* Entry points of module mpi_f08. Those with a choice buffer get a descriptor of it from MPICH, whose first word is its address. */
#if defined(OMPI_MAJOR_VERSION)
#define F08(x) mpi_##x##_f08_
#define P_F08(x) pmpi_##x##_f08_
#define F08_CHOICE(x) F08(x)
#define P_F08_CHOICE(x) P_F08(x)
#define F08_CHOICE_IN_PLACE(buffer) in_place(buffer)
#elif defined(MPICH_VERSION)
extern int MPIR_F08_MPI_IN_PLACE __attribute__((weak));
#pragma weak MPI_F08_STATUS_IGNORE
#pragma weak MPI_F08_STATUSES_IGNORE
#define F08(x) mpi_##x##_f08_
#define P_F08(x) pmpir_##x##_f08_
#define F08_CHOICE(x) mpi_##x##_f08ts_
#define P_F08_CHOICE(x) pmpir_##x##_f08ts_
#define F08_CHOICE_IN_PLACE(buffer) (*(void **)(buffer) == (void *)&MPIR_F08_MPI_IN_PLACE)
#endif

/* Return whether Fortran does not want the status, or the statuses. */
static inline int ignored(const MPI_Fint *status)
{
#if defined(F08) && defined(MPICH_VERSION)
    if (&MPI_F08_STATUS_IGNORE && (const void *)status == (const void *)MPI_F08_STATUS_IGNORE)
        return 1;
#endif
    return status == MPI_F_STATUS_IGNORE;
}

static inline int all_ignored(const MPI_Fint *statuses)
{
#if defined(F08) && defined(MPICH_VERSION)
    if (&MPI_F08_STATUSES_IGNORE && (const void *)statuses == (const void *)MPI_F08_STATUSES_IGNORE)
        return 1;
#endif
    return statuses == MPI_F_STATUSES_IGNORE;
}

#define FORTRAN_STATUS (sizeof(MPI_Status) / sizeof(MPI_Fint) + 8)

static MPI_Request *requests_f2c(Thread *me, int n, const MPI_Fint *requests)
{
    reserve(me, n);
    for (int k = 0; k < n; k++)
        me->requests[k] = PMPI_Request_f2c(requests[k]);
    return me->requests;
}

static MPI_Status *statuses_f2c(Thread *me, int n, MPI_Fint *statuses)
{
    const size_t size = sizeof(MPI_Status) / sizeof(MPI_Fint);
    if ((const void *)statuses != (const void *)me->statuses)
        for (int k = 0; k < n; k++)
            PMPI_Status_f2c(statuses + (size_t)k * size, &me->statuses[k]);
    return me->statuses;
}

static const int *indices_f2c(Thread *me, int n, const MPI_Fint *indices)
{
    for (int k = 0; k < n; k++)
        me->indices[k] = indices[k] - 1;
    return me->indices;
}

/* What all wrappers of initialisations do first, and of finalisations. */
#define BEGINNING(name)                                                                                                                    \
    void *site = __builtin_return_address(0);                                                                                              \
    int64_t since = 0;                                                                                                                     \
    int first = before_init(R_##name, &since);                                                                                             \
    Thread *me = first ? NULL : enter(R_##name, site)
#define ENDING(name, world)                                                                                                                \
    Thread *me = enter(R_##name, __builtin_return_address(0));                                                                             \
    int comm = world && me ? comm_of(me, MPI_COMM_WORLD)->number : NOBODY, last = before_finalize(world)

static void finalised(Thread *me, int code, int comm, int last)
{
    if (me) {
        leave(me, code)->comm = comm;
        commit(me);
    }
    if (last)
        after_finalize();
}

int MPI_Init(int *argc, char ***argv)
{
    BEGINNING(Init);
    int code = PMPI_Init(argc, argv);
    initialised(R_Init, first, me, code, since, site);
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    BEGINNING(Init_thread);
    int code = PMPI_Init_thread(argc, argv, required, provided);
    initialised(R_Init_thread, first, me, code, since, site);
    return code;
}

int MPI_Finalize(void)
{
    ENDING(Finalize, 1);
    int code = PMPI_Finalize();
    finalised(me, code, comm, last);
    return code;
}

#ifdef MPI_SESSION_NULL
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    BEGINNING(Session_init);
    int code = PMPI_Session_init(info, handler, session);
    if (code == MPI_SUCCESS)
        session_begins(*session);
    initialised(R_Session_init, first, me, code, since, site);
    return code;
}

int MPI_Session_finalize(MPI_Session *session)
{
    ENDING(Session_finalize, 0);
    int code = PMPI_Session_finalize(session);
    finalised(me, code, comm, last);
    return code;
}
#endif

/* The call never returns: its row must be complete before. */
static void aborting(MPI_Comm comm, void *site)
{
    Thread *me = enter(R_Abort, site);
    if (!me)
        return;
    Call *call = leave(me, MPI_SUCCESS);
    call->comm = comm_of(me, comm)->number;
    commit(me);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    aborting(comm, __builtin_return_address(0));
    return PMPI_Abort(comm, code);
}

int MPI_Pcontrol(const int level, ...)
{
    const char *name = "";
    if (level == PERWIZ_BEGIN_LEVEL || level == PERWIZ_PARALLEL_LEVEL) {
        va_list values;
        va_start(values, level);
        name = va_arg(values, const char *);
        va_end(values);
    }
    if (controlled(level, name, __builtin_return_address(0)))
        return MPI_SUCCESS;
    Thread *me = enter(R_Pcontrol, __builtin_return_address(0));
    int code = PMPI_Pcontrol(level);
    if (me) {
        leave(me, code)->tag = level;
        commit(me);
    }
    return code;
}

/* The beginning and the end, for mpif.h and for mpi_f08. */
#define FORTRAN_ENDS(ENTRY, CALL)                                                                                                          \
    extern void CALL(init)(MPI_Fint *) __attribute__((weak));                                                                             \
    extern void CALL(init_thread)(MPI_Fint *, MPI_Fint *, MPI_Fint *) __attribute__((weak));                                              \
    extern void CALL(finalize)(MPI_Fint *) __attribute__((weak));                                                                         \
    extern void CALL(abort)(MPI_Fint *, MPI_Fint *, MPI_Fint *) __attribute__((weak));                                                    \
    void ENTRY(init)(MPI_Fint *error)                                                                                                      \
    {                                                                                                                                      \
        BEGINNING(Init);                                                                                                                   \
        MPI_Fint code = 0;                                                                                                                 \
        pw_fortran = 1;                                                                                                                    \
        CALL(init)(&code);                                                                                                                 \
        initialised(R_Init, first, me, code, since, site);                                                                                 \
        if (error)                                                                                                                         \
            *error = code;                                                                                                                 \
    }                                                                                                                                      \
    void ENTRY(init_thread)(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)                                                       \
    {                                                                                                                                      \
        BEGINNING(Init_thread);                                                                                                            \
        MPI_Fint code = 0;                                                                                                                 \
        pw_fortran = 1;                                                                                                                    \
        CALL(init_thread)(required, provided, &code);                                                                                      \
        initialised(R_Init_thread, first, me, code, since, site);                                                                          \
        if (error)                                                                                                                         \
            *error = code;                                                                                                                 \
    }                                                                                                                                      \
    void ENTRY(finalize)(MPI_Fint *error)                                                                                                  \
    {                                                                                                                                      \
        MPI_Fint code = 0;                                                                                                                 \
        ENDING(Finalize, 1);                                                                                                               \
        CALL(finalize)(&code);                                                                                                             \
        finalised(me, code, comm, last);                                                                                                   \
        if (error)                                                                                                                         \
            *error = code;                                                                                                                 \
    }                                                                                                                                      \
    void ENTRY(abort)(MPI_Fint *comm, MPI_Fint *reason, MPI_Fint *error)                                                                  \
    {                                                                                                                                     \
        aborting(PMPI_Comm_f2c(*comm), __builtin_return_address(0));                                                                      \
        CALL(abort)(comm, reason, error);                                                                                                 \
    }

#define F77(x) mpi_##x##_
#define P_F77(x) pmpi_##x##_
FORTRAN_ENDS(F77, P_F77)
#ifdef F08
FORTRAN_ENDS(F08, P_F08)
void F08(pcontrol)(MPI_Fint *level)
{
    if (!controlled(*level, "", __builtin_return_address(0)))
        PMPI_Pcontrol(*level);
}
#endif

void mpi_pcontrol_(MPI_Fint *level)
{
    if (!controlled(*level, "", __builtin_return_address(0)))
        PMPI_Pcontrol(*level);
}

#pragma weak mpi_init = mpi_init_
#pragma weak mpi_init__ = mpi_init_
#pragma weak MPI_INIT = mpi_init_
#pragma weak mpi_init_thread = mpi_init_thread_
#pragma weak mpi_init_thread__ = mpi_init_thread_
#pragma weak MPI_INIT_THREAD = mpi_init_thread_
#pragma weak mpi_finalize = mpi_finalize_
#pragma weak mpi_finalize__ = mpi_finalize_
#pragma weak MPI_FINALIZE = mpi_finalize_
#pragma weak mpi_abort = mpi_abort_
#pragma weak mpi_abort__ = mpi_abort_
#pragma weak MPI_ABORT = mpi_abort_
#pragma weak mpi_pcontrol = mpi_pcontrol_
#pragma weak mpi_pcontrol__ = mpi_pcontrol_
#pragma weak MPI_PCONTROL = mpi_pcontrol_
