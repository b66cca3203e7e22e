/* User regions, begun and ended by name or by the levels of MPI_Pcontrol. */

#include "perwiz.h"

typedef struct {
    const char *given; /* the pointer it was first begun with: literals are the same every time */
    char *name;
    int parallel;
} Region;

static Region *pw_regions;
static int pw_region_count;

/* `placed`: its name goes on with the place it begins at. */
static int region_new(const char *name, int parallel, int placed)
{
    pw_regions = memory(pw_regions, (size_t)(pw_region_count + 1) * sizeof *pw_regions);
    pw_regions[pw_region_count] = (Region){name, strdup(name), parallel};
    Line line = {0};
    put(&line, "{\"region\":%d,\"parallel\":%s,\"placed\":%s,\"name\":", pw_region_count, parallel ? "true" : "false", placed ? "true" : "false");
    put_string(&line, name);
    put(&line, "}");
    write_line(&line);
    return pw_region_count++;
}

static int region_of(const char *name, int parallel)
{
    lock();
    int k = 0, count = pw_region_count;
    while (k < count && (pw_regions[k].given != name || pw_regions[k].parallel != parallel || strcmp(pw_regions[k].name, name)))
        k++;
    if (k == count)
        for (k = 0; k < count && (pw_regions[k].parallel != parallel || strcmp(pw_regions[k].name, name)); k++)
            ;
    if (k == count)
        k = region_new(name, parallel, 0);
    unlock();
    return k;
}

static void boundary(int op, int region, void *site)
{
    Thread *me = enter(op, site);
    if (!me)
        return;
    Call *call = (Call *)(void *)me->calls.next;
    if (pw_profiling) {
        count_region(me, op == OP_BEGIN ? region : NOBODY, call->enter);
        return;
    }
    call->leave = call->enter;
    memcpy(me->after, me->before, sizeof me->after);
    call->flags = 0;
    call->peer = region;
    commit(me);
}

__attribute__((visibility("default"))) void perwiz_begin(const char *name, int parallel)
{
    if (pw_state == ON)
        boundary(OP_BEGIN, region_of(name, parallel), __builtin_return_address(0));
}

__attribute__((visibility("default"))) void perwiz_end(void)
{
    if (pw_state == ON)
        boundary(OP_END, NOBODY, __builtin_return_address(0));
}

/* Levels above 1 begin the parallel region "level N", their negatives end it. Return whether that was all. */
static int controlled(int level, const char *name, void *site)
{
    if (pw_state != ON)
        return level == PERWIZ_BEGIN_LEVEL || level == PERWIZ_PARALLEL_LEVEL || level == PERWIZ_END_LEVEL;
    char text[32];
    if (level == PERWIZ_BEGIN_LEVEL || level == PERWIZ_PARALLEL_LEVEL)
        boundary(OP_BEGIN, region_of(name, level == PERWIZ_PARALLEL_LEVEL), site);
    else if (level == PERWIZ_END_LEVEL || level < -1)
        boundary(OP_END, NOBODY, site);
    else if (level > 1) {
        snprintf(text, sizeof text, "level %d", level);
        boundary(OP_BEGIN, region_of(text, 1), site);
    } else
        return 0;
    return 1;
}
