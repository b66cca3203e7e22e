/* A farm of tasks: few long and many short ones. Rank 0 hands them out and computes nothing itself.

   farm [static] [requests] [ahead[:N]] [growing] [slow:RANK] [fast:RANK] [balanced] [short] [tasks:N]
     as it is     whoever brings a result gets the next task, long ones come anywhere
     requests     likewise, but the master posts a receive for each worker, and waits for any of them
     ahead:N      likewise, but the master posts N receives for anybody before it answers (one without :N), and waits for them behind
     growing      a task brings up to three others while it is worked at, and the master lets workers wait until there are any
     static       worker w gets tasks w, w + workers, ...: who is done early waits
     slow:RANK    that worker computes twice as long, fast:RANK half as long
     balanced     all tasks take the mean
     short        every task takes half as long
     tasks:N      so many of them, not 100 */
#include "study.h"

enum { LONG = 150000, SHORT = 30000, EVERY = 11 };

static int tasks = 100;

/* Microseconds of a task: every eleventh or so is long, the others differ by half. */
static long work(int task)
{
    unsigned mixed = ((unsigned)task + 1u) * 2654435761u;
    mixed ^= mixed >> 15;
    mixed *= 2246822519u;
    mixed ^= mixed >> 13;
    return mixed % EVERY == 0 ? LONG : SHORT / 2 + (long)(mixed >> 8) % SHORT;
}

static long mean_work(void)
{
    long sum = 0;
    for (int task = 0; task < tasks; task++)
        sum += work(task);
    return sum / tasks;
}

static void master(int fixed)
{
    int next[64], given = 0, result, none = -1;
    MPI_Status status;
    for (int worker = 1; worker < size; worker++)
        next[worker] = worker - 1;
    for (int open = size - 1; open > 0;) {
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        int who = status.MPI_SOURCE, task = fixed ? next[who] : given;
        given++;
        next[who] += size - 1;
        if (task >= tasks)
            open--;
        MPI_Send(task < tasks ? &task : &none, 1, MPI_INT, who, 2, MPI_COMM_WORLD);
    }
}

/* The same by some receives for anybody that are there before whoever asks next. */
static void master_ahead(int posted)
{
    enum { MOST = 16 };
    int none = -1, result[MOST], asked = tasks + size - 1;
    posted = posted > MOST ? MOST : posted;
    MPI_Request request[MOST];
    for (int k = 0; k < posted && k < asked; k++)
        MPI_Irecv(&result[k], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[k]);
    for (int task = 0; task < asked; task++) {
        int slot = task % posted;
        MPI_Status status;
        MPI_Wait(&request[slot], &status);
        if (task + posted < asked)
            MPI_Irecv(&result[slot], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[slot]);
        MPI_Send(task < tasks ? &task : &none, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
}

/* The same by a receive for each worker. */
static void master_of_requests(void)
{
    int given = 0, none = -1, result[64];
    MPI_Request request[64];
    for (int worker = 1; worker < size; worker++)
        MPI_Irecv(&result[worker - 1], 1, MPI_INT, worker, 1, MPI_COMM_WORLD, &request[worker - 1]);
    for (int open = size - 1; open > 0;) {
        int who, task;
        MPI_Waitany(size - 1, request, &who, MPI_STATUS_IGNORE);
        task = given++;
        if (task >= tasks)
            open--;
        else
            MPI_Irecv(&result[who], 1, MPI_INT, who + 1, 1, MPI_COMM_WORLD, &request[who]);
        MPI_Send(task < tasks ? &task : &none, 1, MPI_INT, who + 1, 2, MPI_COMM_WORLD);
    }
}

enum { ASKS = 1, GIVES = 2, BRINGS = 3, CHILDREN = 3 };

/* A queue of tasks, of which one is there at first, and one of workers: who brings tasks does not ask for one. */
static void master_of_queues(void)
{
    int waiting[64], first = 0, last = 0, given = 0, there = 1, none = -1, brought[CHILDREN];
    while (given < tasks || last - first < size - 1) {
        if (given < there && first < last) {
            int who = waiting[first++ % 64];
            MPI_Send(&given, 1, MPI_INT, who, GIVES, MPI_COMM_WORLD);
            given++;
            continue;
        }
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(brought, CHILDREN, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == ASKS) {
            waiting[last++ % 64] = status.MPI_SOURCE;
        } else {
            int count;
            MPI_Get_count(&status, MPI_INT, &count);
            there += count;
        }
    }
    while (first < last)
        MPI_Send(&none, 1, MPI_INT, waiting[first++ % 64], GIVES, MPI_COMM_WORLD);
}

/* A task whose others, three times its number and the next two, are known when a third of it is done. */
static void grow(int task, long microseconds)
{
    int others[CHILDREN], count = 0;
    compute(microseconds / 3);
    for (int other = CHILDREN * task + 1; other <= CHILDREN * (task + 1) && other < tasks; other++)
        others[count++] = other;
    if (count)
        MPI_Send(others, count, MPI_INT, 0, BRINGS, MPI_COMM_WORLD);
    compute(microseconds - microseconds / 3);
}

static void worker(long mean, double factor, int growing)
{
    int task = -1;
    for (;;) {
        MPI_Send(&task, 1, MPI_INT, 0, ASKS, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, GIVES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task < 0)
            return;
        PRGN_BEGIN("task");
        long microseconds = (long)((double)(mean ? mean : work(task)) * factor);
        if (growing)
            grow(task, microseconds);
        else
            compute(microseconds);
        PRGN_END;
    }
}

int main(int argc, char **argv)
{
    char slow[32], fast[32];
    begin(&argc, &argv, 0);
    int posted = given(argc, argv, "ahead");
    for (int k = 1; k < argc; k++) {
        sscanf(argv[k], "tasks:%d", &tasks);
        sscanf(argv[k], "ahead:%d", &posted);
    }
    snprintf(slow, sizeof slow, "slow:%d", rank);
    snprintf(fast, sizeof fast, "fast:%d", rank);
    double factor = (given(argc, argv, slow) ? 2 : 1) * (given(argc, argv, fast) ? 0.5 : 1) * (given(argc, argv, "short") ? 0.5 : 1);
    if (rank == 0 && given(argc, argv, "requests"))
        master_of_requests();
    else if (rank == 0 && posted > 0)
        master_ahead(posted);
    else if (rank == 0 && given(argc, argv, "growing"))
        master_of_queues();
    else if (rank == 0)
        master(given(argc, argv, "static"));
    else
        worker(given(argc, argv, "balanced") ? mean_work() : 0, factor, given(argc, argv, "growing"));
    finish();
}
