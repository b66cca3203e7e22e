/* The recorder for programs without MPI: one process, from its first instant to its end. Its files are made when the first thread begins, so
   that shells and other programs on the way to it leave none. To be preloaded. */
#define PERWIZ_ALONE
#include "recorder.h"

static const char *const pw_switches[] = {"OMP_", "KMP_", "GOMP_", NULL};

#include "maps.c"

#include "files.c"

#include "names.c" /* generated */

#include "events.c"

#include "count.c"

#include "core.c"

#include "definitions.c"

#include "regions.c"

#include "openmp.c"

#include "pthreads.c"

#include "process.c"

static int64_t pw_started;
static Thread *pw_main;

static void __attribute__((constructor)) process_begins(void) { pw_started = now(); }

/* A thread is about to be begun, or a runtime to begin some: start recording. */
static void recording_begins(void)
{
    const char *folder = getenv("PERWIZ_DIR"), *token = getenv("PERWIZ_TOKEN"), *window = getenv("PERWIZ_WINDOW");
    int before = BEFORE;
    if (!folder || !*folder || !__atomic_compare_exchange_n(&pw_state, &before, STARTING, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    snprintf(pw_folder, sizeof pw_folder, "%s", folder);
    if (window && atol(window) >= PAGE)
        pw_window = (size_t)atol(window);
    pw_ranks = pw_locking = 1;
    if (!visible(token ? token : "")) {
        fprintf(stderr, "perwiz: %s: not this run's directory; the program is not recorded\n", pw_folder);
        pw_state = OVER;
    } else {
        events_asked();
        if (open_definitions())
            pw_state = OVER;
    }
    if (pw_state == OVER)
        return;
    write_process(pw_started, 0, "", (const int[]){0, 0}, "single");
    Line line = {0};
    put(&line, "{\"comm\":0,\"parent\":-1,\"nth\":0,\"how\":\"world\",\"ranks\":[0,1,1]}");
    write_line(&line);
    write_modules();
    write_counters();
    openmp_regions();
    pthread_key_create(&pw_ending, end_thread);
    pthread_atfork(NULL, NULL, in_child);
    pw_state = ON;
    pw_main = start_thread();
}

/* Nobody is idle any more when the process has come to its end. */
static void __attribute__((destructor)) process_ends(void)
{
    if (pw_state != ON)
        return;
    pw_state = OVER;
    openmp_settle();
    int64_t time = now();
    if (pw_main && !pw_main->depth)
        openmp_put(pw_main, OP_PROCESS_END, time, time, 0, 0);
    write_modules();
    write_runtime();
    Line line = {0};
    put(&line, "{\"ended\":%lld}", (long long)time);
    write_line(&line);
    close_files();
}
