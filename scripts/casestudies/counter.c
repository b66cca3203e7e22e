/* A loop of tasks that processes share by themselves: few long and many short ones.

   counter [static] [slow:RANK] [fast:RANK] [balanced] [short]
     as it is     each takes the next task when it is done, by MPI_Fetch_and_op on a counter
     static       process p does tasks p, p + processes, ...: who is done early waits
     blocks       static, but in blocks of neighbours
     slow:RANK    that process computes twice as long, fast:RANK half as long
     balanced     all tasks take the mean
     short        every task takes half as long */
#include "study.h"

enum { TASKS = 100, LONG = 150000, SHORT = 30000, EVERY = 11 };

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
    for (int task = 0; task < TASKS; task++)
        sum += work(task);
    return sum / TASKS;
}

static void run_task(int task, long mean, double factor)
{
    PRGN_BEGIN("task");
    compute((long)((double)(mean ? mean : work(task)) * factor));
    PRGN_END;
}

static void by_counter(MPI_Win window, long mean, double factor)
{
    const int one = 1;
    MPI_Win_lock_all(0, window);
    for (;;) {
        int task;
        MPI_Fetch_and_op(&one, &task, MPI_INT, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        if (task >= TASKS)
            break;
        run_task(task, mean, factor);
    }
    MPI_Win_unlock_all(window);
}

int main(int argc, char **argv)
{
    char slow[32], fast[32];
    int *counter;
    MPI_Win window;
    begin(&argc, &argv, 0);
    snprintf(slow, sizeof slow, "slow:%d", rank);
    snprintf(fast, sizeof fast, "fast:%d", rank);
    double factor = (given(argc, argv, slow) ? 2 : 1) * (given(argc, argv, fast) ? 0.5 : 1) * (given(argc, argv, "short") ? 0.5 : 1);
    long mean = given(argc, argv, "balanced") ? mean_work() : 0;
    MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    PRGN_BEGIN("loop");
    if (given(argc, argv, "blocks"))
        for (int task = rank * TASKS / size; task < (rank + 1) * TASKS / size; task++)
            run_task(task, mean, factor);
    else if (given(argc, argv, "static"))
        for (int task = rank; task < TASKS; task += size)
            run_task(task, mean, factor);
    else
        by_counter(window, mean, factor);
    PRGN_END;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    finish();
}
