/* What all case studies share, and that any of them can be run with another eager limit (limit:N), or with messages that move while their
   receiver computes (moving). Computation is a sleep: 16 processes run truthfully on a few cores, and take the same time in every run. Its
   last part is spent awake, for who is woken is late by as long as others have the processor. */
#ifndef STUDY_H
#define STUDY_H

#include <mpi.h>
#include <perwiz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long SECOND = 1000000000, AWAKE = 300000, LOOKS = 250000;
static int rank, size, moving;
static double began;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static void sleep_until(long time)
{
    struct timespec wake = {.tv_sec = time / SECOND, .tv_nsec = time % SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL))
        ;
}

/* Let messages move, unseen by the recorder: so does hardware, or a thread on a processor of its own. */
static void let_move(void)
{
    int there;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

/* Compute for so many microseconds. */
static void compute(long microseconds)
{
    long end = now() + microseconds * 1000;
    for (; moving && now() + LOOKS < end - AWAKE; let_move())
        sleep_until(now() + LOOKS);
    sleep_until(end - AWAKE);
    while (now() < end)
        if (moving)
            let_move();
}

/* Be woken in time: timers to a microsecond, and, where the kernel can, turns of 0.1 ms, so that nobody who wakes waits long for his own. */
static void be_punctual(void)
{
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long runtime, deadline, period;
    } turns = {.size = 48, .nice = getpriority(PRIO_PROCESS, 0), .runtime = 100000};
    prctl(PR_SET_TIMERSLACK, 1000L);
    syscall(SYS_sched_setattr, 0, &turns, 0);
}

/* Whether a word is among the arguments: each switches one modification on. */
static inline int given(int argc, char **argv, const char *word)
{
    for (int k = 1; k < argc; k++)
        if (!strcmp(argv[k], word))
            return 1;
    return 0;
}

/* Have the MPI run with another eager limit, of the argument limit:N: what mpiexec --mca btl_sm_eager_limit N says to Open MPI, and these
   variables to MPICH, whose cells have to hold an eager message. */
static void set_mpi(int argc, char **argv)
{
    enum { CELL = 8192, HEADER = 1024 };
    char text[16];
    int limit = 0;
    for (int k = 1; k < argc; k++)
        sscanf(argv[k], "limit:%d", &limit);
    if (!limit)
        return;
    int cell = limit + HEADER < CELL ? CELL : limit + HEADER;
    struct {
        const char *name;
        int value;
    } said[] = {
        {"OMPI_MCA_btl_sm_eager_limit", limit},
        {"MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", limit + 1},
        {"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", cell},
        {"MPIR_CVAR_CH4_PACK_BUFFER_SIZE", 2 * cell},
    };
    for (size_t k = 0; k < sizeof said / sizeof *said; k++) {
        snprintf(text, sizeof text, "%d", said[k].value);
        setenv(said[k].name, text, 1);
    }
}

/* Begin on all processes at once; there must be `needed` of them, if that is not 0. */
static void begin(int *argc, char ***argv, int needed)
{
    set_mpi(*argc, *argv);
    moving = given(*argc, *argv, "moving");
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (needed && size != needed) {
        if (rank == 0)
            fprintf(stderr, "%s: %d processes, must be %d\n", (*argv)[0], size, needed);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    be_punctual();
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
}

/* End on all processes at once; rank 0 prints the seconds from the common begin until the last process is done. The barrier takes all waiting:
   inside MPI_Reduce a process may wait for some of the others, and no recording says for which. */
static void finish(void)
{
    double mine = MPI_Wtime() - began, all = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("elapsed %.6f\n", all);
    MPI_Finalize();
}

/* How many bytes the messages have: of the argument bytes:N, else as many as is usual. */
static inline int message_bytes(int argc, char **argv, int usual)
{
    int bytes = usual;
    for (int k = 1; k < argc; k++)
        sscanf(argv[k], "bytes:%d", &bytes);
    return bytes;
}

/* Memory for a message, written once, so that no page of it comes to be while it is sent. */
static inline char *message(int bytes)
{
    char *memory = malloc((size_t)bytes);
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return memset(memory, 1, (size_t)bytes);
}

#endif
