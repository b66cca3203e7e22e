/* How a program begins and ends: beginnings HOW. */
#include "suite.h"
#include <pthread.h>

#if MPI_4
static int met(MPI_Session session, const char *text)
{
    int one = 1, sum = 0;
    MPI_Group all;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, text, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &one, 1, MPI_INT, (rank + size - 1) % size, 1, comm, IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    return sum == 3;
}

static int session(void)
{
    MPI_Session one;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    int good = met(one, "one");
    MPI_Session_finalize(&one);
    return good;
}

static int two_sessions(void)
{
    MPI_Session one, other;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    int good = met(one, "one") & met(other, "other");
    MPI_Session_finalize(&one);
    good &= met(other, "again");
    MPI_Session_finalize(&other);
    return good;
}

static int with_world(int first)
{
    MPI_Session one;
    int sum = 0;
    if (first)
        MPI_Init(NULL, NULL);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    if (!first)
        MPI_Init(NULL, NULL);
    int good = met(one, "one");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, ALL);
    if (first)
        MPI_Finalize();
    good &= met(one, "two");
    MPI_Session_finalize(&one);
    if (!first)
        MPI_Finalize();
    return good && sum == 3;
}
#endif

static int spawned(char *program)
{
    int child = 0, got = 0;
    char how[] = "spawn", *words[] = {how, NULL};
    MPI_Comm parent, inter, all;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(ALL, &rank);
    MPI_Comm_get_parent(&parent);
    child = parent != MPI_COMM_NULL;
    if (!child)
        MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, ALL, &inter, MPI_ERRCODES_IGNORE);
    else
        inter = parent;
    if (rank == 0)
        MPI_Sendrecv(&child, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, IGNORE);
    MPI_Intercomm_merge(inter, child, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    MPI_Barrier(ALL);
    MPI_Finalize();
    rank += 10 * child;
    return child || rank || got == 1;
}

static void *talk(void *of)
{
    int tag = *(int *)of, got = -1;
    for (int k = 0; k < 20; k++) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, before, tag, ALL, &request);
        MPI_Send(&tag, 1, MPI_INT, next, tag, ALL);
        MPI_Wait(&request, IGNORE);
    }
    *(int *)of = got;
    return NULL;
}

static int threads(void)
{
    int level, tags[2] = {1, 2};
    pthread_t other;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(ALL, &rank);
    MPI_Comm_size(ALL, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    if (level == MPI_THREAD_MULTIPLE)
        pthread_create(&other, NULL, talk, &tags[1]);
    talk(&tags[0]);
    if (level == MPI_THREAD_MULTIPLE)
        pthread_join(other, NULL);
    MPI_Finalize();
    return tags[0] == 1 && tags[1] == 2;
}

static int aborted(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(ALL, &rank);
    MPI_Barrier(ALL);
    PMPI_Barrier(ALL); /* not recorded: nobody goes on before the other one is recorded everywhere */
    if (rank == 0)
        MPI_Abort(ALL, 9);
    MPI_Recv(&rank, 1, MPI_INT, 0, 1, ALL, IGNORE);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int good = 0;
    if (!strcmp(how, "spawn"))
        good = spawned(argv[0]);
    if (!strcmp(how, "threads"))
        good = threads();
    if (!strcmp(how, "abort"))
        good = aborted();
#if MPI_4
    if (!strcmp(how, "session"))
        good = session();
    if (!strcmp(how, "sessions"))
        good = two_sessions();
    if (!strcmp(how, "world first") || !strcmp(how, "world last"))
        good = with_world(!strcmp(how, "world first"));
#endif
    if (rank == 0 && strcmp(how, "abort"))
        printf("%s %s\n", how, good ? "right" : "wrong");
    return !good;
}
