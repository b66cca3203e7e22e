/* Round trips between pairs of processes, printed by rank 0 as lines that begin with @perwiz; all times are ns.
 *
 * One message and its answer (one), n messages and the answer to the last (many), the same with a pause after each, the pauses
 * left out (spaced), the call that receives what has arrived (receive), the call that sends to a receiver that is late, being in other
 * MPI calls (late) or in none (asleep), and the wait for a receive during which nothing was called (overlap). After Hoefler et al.,
 * Netgauge (2007).
 *
 * Arguments: rounds, largest size in bytes. Rounds go over all sizes, so that what disturbs one of them disturbs all sizes a little.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGES = 10, SIZES = 96, WARMUP = 5, LATE = 5, KINDS = 4, GO = 1, DATA = 2, NOTHING = 3, SHORTEST_PAUSE = 200000, LONGEST_PAUSE = 100000000 };

static const char *const KIND[KINDS] = {"one", "many", "spaced", "receive"};
static int rounds, count, sizes[SIZES];
static int64_t usual[SIZES]; /* round trip of one message, as the client has seen it */
static char *buffer;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Compute until a time; return how long that was. */
static int64_t compute(int64_t from, int64_t pause)
{
    int64_t at = now();
    while (at - from < pause)
        at = now();
    return at - from;
}

static void give(int size, int to) { MPI_Send(buffer, size, MPI_BYTE, to, DATA, MPI_COMM_WORLD); }

static void take(int size, int from) { MPI_Recv(buffer, size, MPI_BYTE, from, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void tell(const int64_t *what, int to) { MPI_Send(what, 2, MPI_INT64_T, to, GO, MPI_COMM_WORLD); }

static void hear(int64_t *what, int from) { MPI_Recv(what, 2, MPI_INT64_T, from, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

/* Return the ns of a round trip of n messages, without its pauses. */
static int64_t trip(int client, int other, int size, int n, int64_t pause)
{
    int64_t begin = now(), paused = 0;
    for (int k = 0; k < n; k++) {
        if (client)
            give(size, other);
        else
            take(size, other);
        if (client && pause && k + 1 < n)
            paused += compute(now(), pause);
    }
    if (client)
        take(size, other);
    else
        give(size, other);
    return now() - begin - paused;
}

/* Return the ns of the call that receives a message sent long before. */
static int64_t arrived(int client, int other, int size, int64_t pause)
{
    int64_t word[2] = {0, 0}, begin;
    if (!client) {
        hear(word, other);
        give(size, other);
        return 0;
    }
    tell(word, other);
    compute(now(), 2 * pause);
    begin = now();
    take(size, other);
    return now() - begin;
}

static int64_t sample(int kind, int client, int other, int k)
{
    if (kind == 3)
        return arrived(client, other, sizes[k], usual[k]);
    return trip(client, other, sizes[k], kind ? MESSAGES : 1, kind == 2 ? usual[k] : 0);
}

static void warm_up(int client, int other)
{
    for (int k = 0; k < count; k++) {
        usual[k] = INT64_MAX;
        for (int i = 0; i < WARMUP; i++) {
            int64_t time = trip(client, other, sizes[k], 1, 0);
            usual[k] = time < usual[k] ? time : usual[k];
        }
    }
}

static void print_samples(const char *pair, const int64_t *times)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < count; k++) {
            printf("@perwiz %s %s %d", pair, KIND[kind], sizes[k]);
            for (int i = 0; i < rounds; i++)
                printf(" %lld", (long long)times[(i * count + k) * KINDS + kind]);
            printf("\n");
        }
}

/* Print how many bytes of all have been moved, when some rounds of all are done. */
static void print_progress(int done, int all)
{
    int64_t bytes = 0;
    for (int k = 0; k < count; k++)
        bytes += (int64_t)sizes[k] * (2 * MESSAGES + 7);
    printf("@perwiz progress %lld %lld\n", (long long)(done * bytes), (long long)(all * bytes));
    fflush(stdout);
}

/* The client, rank 0, prints; the server does the same calls from the other side. */
static void round_trips(const char *pair, int client, int other, int done, int all)
{
    int64_t *times = calloc((size_t)rounds * count * KINDS, sizeof *times);
    if (!times)
        MPI_Abort(MPI_COMM_WORLD, 3);
    warm_up(client, other);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < count; k++) {
            trip(client, other, sizes[k], 1, 0); /* leaves caches as the next one will find them */
            for (int kind = 0; kind < KINDS; kind++)
                times[(i * count + k) * KINDS + kind] = sample(kind, client, other, k);
        }
        if (client)
            print_progress(done + i + 1, all);
    }
    if (client)
        print_samples(pair, times);
    free(times);
}

static int64_t lateness(int k) { return 4 * usual[k] > SHORTEST_PAUSE ? 4 * usual[k] : SHORTEST_PAUSE; }

/* Send to a receiver that is late, several times; return whether the sender mostly did not wait for it.

   A sender that is late itself, as other work had its processor, learns nothing: the tries are made again, with a receiver that is
   late for twice as long, until other work takes less than half of that. */
static int is_eager(const char *pair, int other, int size, int64_t pause, int asleep)
{
    int64_t word[2] = {asleep ? -size : size, pause}, took[LATE];
    int soon = 0;
    for (int i = 0; i < LATE; i++) {
        int64_t asked = now(), begin;
        tell(word, other);
        hear(word, other);
        begin = now();
        give(size, other);
        took[i] = now() - begin;
        take(0, other);
        if (2 * (begin - asked) > word[1] && word[1] < LONGEST_PAUSE) {
            word[1] *= 2;
            i = -1;
        }
    }
    printf("@perwiz %s %s %d %lld", pair, asleep ? "asleep" : "late", size, (long long)word[1]);
    for (int i = 0; i < LATE; i++) {
        soon += 2 * took[i] < word[1];
        printf(" %lld", (long long)took[i]);
    }
    printf("\n");
    return 2 * soon > LATE;
}

/* Look for the largest size that does not wait for its receiver, first among all sizes, then between two of them. */
static void search(const char *pair, int other, int asleep)
{
    int64_t end[2] = {0, 0};
    int eager = 0, waits = -1;
    for (int k = 0; k < count && (waits < 0 || sizes[k] <= 4 * (int64_t)waits); k++) {
        if (is_eager(pair, other, sizes[k], lateness(k), asleep))
            eager = sizes[k];
        else if (waits < 0)
            waits = sizes[k];
    }
    while (waits - eager > 1) {
        int size = eager + (waits - eager) / 2, k = 0;
        while (sizes[k] < size)
            k++;
        if (is_eager(pair, other, size, lateness(k), asleep))
            eager = size;
        else
            waits = size;
    }
    tell(end, other);
}

static void be_late(int other)
{
    int64_t word[2];
    for (hear(word, other); word[0]; hear(word, other)) {
        int64_t begin, size = llabs(word[0]);
        int asleep = word[0] < 0, found;
        tell(word, other);
        for (begin = now(); now() - begin < word[1];)
            if (!asleep)
                MPI_Iprobe(other, NOTHING, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        take((int)size, other);
        give(0, other);
    }
}

/* Receive the largest message while computing; print how long the wait behind that is. */
static void overlap(const char *pair, int client, int other)
{
    int64_t word[2] = {0, 0}, begin;
    int size = sizes[count - 1];
    if (client)
        printf("@perwiz %s overlap %d", pair, size);
    for (int i = 0; i < LATE; i++) {
        MPI_Request request;
        if (!client) {
            hear(word, other);
            give(size, other);
            continue;
        }
        MPI_Irecv(buffer, size, MPI_BYTE, other, DATA, MPI_COMM_WORLD, &request);
        tell(word, other);
        compute(now(), 3 * usual[count - 1]);
        begin = now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf(" %lld", (long long)(now() - begin));
    }
    if (client)
        printf("\n");
}

/* Wait for all without taking a processor from those that measure. */
static void meet(void)
{
    struct timespec nap = {0, 500000};
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        nanosleep(&nap, NULL);
}

static void measure(const char *pair, int rank, int other, int done, int all)
{
    if (rank == 0 || rank == other) {
        int partner = rank ? 0 : other;
        round_trips(pair, rank == 0, partner, done, all);
        for (int asleep = 0; asleep < 2; asleep++) {
            if (rank == 0)
                search(pair, partner, asleep);
            else
                be_late(partner);
        }
        overlap(pair, rank == 0, partner);
    }
    meet();
}

static void choose_sizes(int largest)
{
    double size = 1;
    for (count = 0; count < SIZES - 1 && size < largest; size *= size < 8 ? 2 : 1.4142135623730951)
        sizes[count++] = (int)(size + 0.5);
    sizes[count++] = largest;
}

/* Print what runs where; set the first rank on rank 0's node and the first on another, or 0. */
static void find_partners(int rank, int ranks, int *near, int *far)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "", *names;
    int length;
    names = calloc(ranks, sizeof mine);
    if (!names)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Get_processor_name(mine, &length);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\r\n")] = 0;
    MPI_Allgather(mine, sizeof mine, MPI_CHAR, names, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
    for (int r = ranks - 1; r > 0; r--)
        *(strcmp(names + r * sizeof mine, mine) ? far : near) = r;
    if (rank == 0)
        printf("@perwiz mpi %s\n@perwiz host %s\n", library, mine);
    if (rank == 0 && *far)
        printf("@perwiz other %s\n", names + *far * sizeof mine);
    free(names);
}

int main(int argc, char **argv)
{
    int rank, ranks, near = 0, far = 0, largest = argc > 2 ? atoi(argv[2]) : 1 << 20, all;
    rounds = argc > 1 ? atoi(argv[1]) : 30;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        printf("@perwiz processes %d\n", ranks);
    if (ranks > 1 && rounds > 0 && largest > 0) {
        buffer = malloc(largest);
        if (!buffer)
            MPI_Abort(MPI_COMM_WORLD, 3);
        memset(buffer, 1, largest);
        choose_sizes(largest);
        find_partners(rank, ranks, &near, &far);
        all = rounds * (!!near + !!far);
        if (near)
            measure("node", rank, near, 0, all);
        if (far)
            measure("across", rank, far, near ? rounds : 0, all);
        if (rank == 0)
            printf("@perwiz done\n");
        free(buffer);
    }
    MPI_Finalize();
    return 0;
}
