/* Tasks that wait for tasks: tasks KIND, two threads, in known numbers. Work is a sleep; see tests/record/test_tasks.py.
   nested: of three tasks each makes two and waits for them; group: a group waits for what its tasks make; undeferred: if(0), final;
   loop: taskloop; needs: a chain, and a taskwait that needs one of two; untied: an untied task that yields. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void compute(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

static void nested(void)
{
    for (int k = 0; k < 3; k++)
#pragma omp task
    {
        for (int i = 0; i < 2; i++)
#pragma omp task
            compute(2);
        compute(1);
#pragma omp taskwait
        compute(1);
    }
#pragma omp taskwait
}

static void group(void)
{
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp task
            compute(4);
            compute(1);
        }
    }
}

static void undeferred(void)
{
#pragma omp task if (0)
    {
#pragma omp task
        compute(3);
        compute(1);
    }
#pragma omp task final(1)
    {
#pragma omp task
        compute(1);
    }
#pragma omp taskwait
}

static void loop(void)
{
#pragma omp taskloop num_tasks(4)
    for (int k = 0; k < 4; k++)
        compute(2);
}

static void needs(void)
{
    int a = 0, b = 0;
#pragma omp task depend(out : a) shared(a)
    compute(a = 3);
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
    compute(b = a);
#pragma omp task depend(in : a) shared(a)
    compute(a - 1);
#pragma omp taskwait depend(in : b)
    compute(1);
#pragma omp taskwait
}

static void untied(void)
{
    for (int k = 0; k < 3; k++)
#pragma omp task untied
    {
        compute(1);
#pragma omp task
        compute(1);
#pragma omp taskyield
        compute(1);
#pragma omp taskwait
        compute(1);
    }
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"nested", nested}, {"group", group}, {"undeferred", undeferred}, {"loop", loop}, {"needs", needs}, {"untied", untied}};
    for (int k = 0; k < 6; k++)
        if (argc > 1 && !strcmp(argv[1], kinds[k].name))
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            kinds[k].run();
        }
    return 0;
}
