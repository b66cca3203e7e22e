/* What the parts of the recorder share. One compilation unit: recorder.c includes them all, wrappers.c (generated) last. */
#ifndef PERWIZ_RECORDER_H
#define PERWIZ_RECORDER_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef PERWIZ_ALONE
#include <mpi.h>
#else /* no MPI: nothing of it is used */
typedef int MPI_Comm, MPI_Request, MPI_Status;
enum { MPI_SUCCESS };
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HIDDEN __attribute__((visibility("hidden")))

/* The list of MPI_Pready_list. */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 6
#define PARTS
#else
#define PARTS const
#endif

/* Partners in a record: ranks in the communicator, or one of these. */
enum { NOBODY = -1, ANYBODY = -2, MYSELF = -3 };

/* Flags of a record. */
enum {
    SENDS = 1,       /* sends a message, or posts one */
    RECEIVES = 2,    /* receives a message, or posts a receive */
    POSTS = 4,       /* returns the request it names */
    DONE = 8,        /* completes the request it names */
    ANY_SOURCE = 16, /* peer is who sent; the program had asked for any */
    ANY_TAG = 32,
    FAILED = 64, /* returned an error */
    CANCELLED = 128,
    MANY = 256,      /* its requests are in the other file */
    MODE = 3 << 9,   /* send mode: 0 standard, 1 ready, 2 buffered, 3 synchronous */
    FOUND = 1 << 11, /* a probe or test that found something */
    FREED = 1 << 12, /* gave the request away: nothing will complete it */
    EXCLUSIVE = 1 << 13, /* of MPI_Win_lock: not shared with others */
    /* Of entries in the maps only. */
    PERSISTENT = 1 << 13,
    ACTIVE = 1 << 14,
    CANCELLING = 1 << 15,
};
#define READY (1 << 9)
#define BUFFERED (2 << 9)
#define SYNCHRONOUS (3 << 9)

/* Records that are no calls come first, then calls of threads, then those of MPI. */
enum {
    OP_NONE,
    OP_MARK,
    OP_BEGIN,
    OP_END,
    OP_TASK_END,
    OP_TASK_NEEDS,
    OP_FORK,
    OP_IDLE,
    OP_JOIN,
    OP_BARRIER,
    OP_IMPLICIT_BARRIER,
    OP_CRITICAL,
    OP_LOCK,
    OP_ORDERED,
    OP_RELEASE,
    OP_TASK_CREATE,
    OP_TASK,
    OP_TASKWAIT,
    OP_PTHREAD_CREATE,
    OP_PTHREAD_IDLE,
    OP_PTHREAD_JOIN,
    OP_PTHREAD_MUTEX_LOCK,
    OP_PTHREAD_RELEASE,
    OP_PTHREAD_COND_WAIT,
    OP_PTHREAD_COND_SIGNAL,
    OP_PTHREAD_BARRIER_WAIT,
    OP_PROCESS_END,
    OP_FIRST,
};

/* One call of MPI or of threads: one line of the cache. The reader's dtype is in files.c. */
typedef struct {
    int64_t enter, leave; /* ns; leave is 0 while the call lasts */
    uint64_t site;        /* address it returns to */
    int64_t sent, received;
    union {
        int64_t request; /* of threads: the team, the task or the lock */
        struct {
            int32_t source, tag;
        } from; /* Sendrecv: what came */
    } u;
    int32_t peer, tag, comm;
    uint16_t op, flags;
} Call;

/* One request of a call that handles several. */
typedef struct {
    int64_t call, request, bytes;
    int32_t peer, tag, comm, flags;
} Part;

/* A file that grows by mapped windows. */
typedef struct {
    char *next, *end;  /* free rows */
    char *base;        /* the window */
    size_t mapped;     /* its size */
    int64_t rows;      /* in closed windows */
    char *first;       /* first row of this window */
    int fd, row;       /* size of a row */
    const char *descr; /* what a row is */
} File;

typedef struct Comm {
    int number, size, remote, rank; /* remote: size of the other group, 0 if there is none */
    int children, lasting, windows; /* communicators made from it, persistent collectives on it, and its windows, so far */
    int in, out;                    /* neighbours */
} Comm;

/* What is counted of one routine. */
enum { SIZES = 48 };
typedef struct {
    int64_t calls, time, count, sent, received;
    int64_t bytes;        /* per call the larger of what it sent and received */
    int64_t sizes[SIZES]; /* calls by that: 0, 1, 2 to 3, 4 to 7 ... */
} Counter;

/* Regions with subtotals, the first of them what is outside of all; how deep they nest. */
enum { PHASES = 64, NESTED = 32, EVENTS = 4 };

/* A team that this thread opened. */
typedef struct {
    int64_t team;
    uint64_t site;
    int64_t begun, ended; /* ended: this thread's own part */
} Fork;

/* A team that this thread is in. */
typedef struct {
    int64_t id;
    int worker;
    Fork *fork; /* that it opened itself */
} Membership;

/* A barrier, taskwait or task group that this thread waits in: of which team or task, since when tasks belong to the group. */
enum { WAITS = 64 };
typedef struct {
    int op;
    int64_t id, group;
    uint64_t site;
} Wait;

/* What a thread does in OpenMP. */
typedef struct {
    int busy;      /* it writes */
    int idle;      /* it has an open row that says so */
    int64_t since; /* when it began to wait, 0: it works */
    int64_t asked; /* when it asked for a mutex */
    int64_t tasks; /* numbers given so far */
    uint64_t waited; /* of the tasks around, the innermost last: whether the thread waited when they began */
    int forks, teams, waits, groups;
    Fork fork[NESTED];
    Membership team[NESTED];
    int works[NESTED + 1]; /* open loops, sections ... by how many teams are around them */
    Wait wait[WAITS];
    int64_t group[NESTED];
} Omp;

typedef struct Thread {
    File calls, parts, counts;
    Counter *table; /* of the region this thread is in; counters only */
    Counter *tables[PHASES];
    int64_t walls[PHASES], since; /* time in the regions; since when it is in this one */
    unsigned char phases[NESTED]; /* regions around it, the outermost first */
    int nested;
    Call spare; /* the call that is being counted, and one of its requests */
    Part spare_part;
    int64_t begun[EVENTS], before[EVENTS], after[EVENTS], inside[EVENTS]; /* events when the thread began, around this call, and in MPI */
    int events;                                            /* file descriptor of their group */
    int depth; /* MPI inside MPI is not recorded */
    int number;
    int64_t late;  /* since when the file of parts took time, or 0 */
    MPI_Comm comm; /* the last one asked for */
    Comm *known;
    unsigned generation;
    uint64_t *keys; /* requests of a call that handles several */
    MPI_Status *statuses;
    MPI_Request *requests;
    int *indices;
    int room;
    Omp omp;
    struct Thread *following;
} Thread;

/* What the recorder knows of a request, a window or a message. */
typedef struct {
    int64_t id, bytes, received;
    int32_t peer, tag, comm, flags;
    int32_t op;               /* of a persistent request: what its start is, 0 for a message */
    int32_t partitions, left; /* of a message sent in partitions: how many, and how many are not ready */
    int32_t source, source_tag; /* of a receive that a send came with */
    MPI_Comm *made; /* Comm_idup: where the communicator will be */
    int32_t parent, nth;
    int32_t thread; /* that posted it */
    int32_t following;
} Entry;

#endif
