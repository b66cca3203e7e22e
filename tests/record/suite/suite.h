/* Small cases, each a region of the trace: a program runs those it is asked for, or all, and says how each went. */
#include <mpi.h>
#include <perwiz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALL MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#ifdef MPI_SESSION_NULL
#define MPI_4 1
#else
#define MPI_4 0
#endif
#if defined(MPICH_VERSION) && MPI_VERSION >= 4
#define LARGE(name) name##_c
#else
#define LARGE(name) name
#endif

typedef struct {
    const char *name;
    int (*run)(void); /* returns whether what came was right */
} Case;

static int rank, size, next, before;

static void run_cases(const Case *cases, int argc, char **argv)
{
    MPI_Comm_rank(ALL, &rank);
    MPI_Comm_size(ALL, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (; cases->name; cases++) {
        int wanted = argc < 2;
        for (int k = 1; k < argc; k++)
            wanted |= !strcmp(argv[k], cases->name);
        if (!wanted)
            continue;
        PERWIZ_BEGIN(cases->name);
        int good = cases->run();
        PERWIZ_END;
        int all = 0;
        MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, ALL); /* nobody begins the next before all have ended this one */
        if (rank == 0)
            printf("%s %s\n", cases->name, all ? "right" : "wrong");
    }
}
