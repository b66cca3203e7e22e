/* Communicators: numbers for them, and who is in them. */

static Map pw_comms; /* Entry.id is the number */
static Comm **pw_comm_list;
static int pw_comm_count, pw_comm_room;
static unsigned pw_generation = 1; /* changes when a handle may come to mean something else */
static MPI_Group pw_world_group;
static int pw_compared;   /* clocks were compared */
static int pw_single = 1; /* no session lets several threads call MPI: what one makes first, all make first */

#define KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* Return the numbers of the processes of a group, NOBODY for those of another world. */
static int *world_ranks(MPI_Group group, int count)
{
    int *own = memory(NULL, 2 * (size_t)(count + 1) * sizeof *own), *out = own + count + 1;
    own[0] = 0;
    for (int k = 1; k < count; k++)
        own[k] = k;
    PMPI_Group_translate_ranks(group, count, own, pw_world_group, out);
    for (int k = 0; k < count; k++)
        own[k] = out[k] < 0 || out[k] == MPI_UNDEFINED ? NOBODY : pw_first + out[k];
    return own;
}

static void put_group(Line *line, const char *name, MPI_Group group, int count)
{
    int *ranks = world_ranks(group, count);
    put(line, ",\"%s\":", name);
    put_runs(line, ranks, count);
    free(ranks);
    PMPI_Group_free(&group);
}

static int kind_of(MPI_Comm handle, const char *how)
{
    int kind = MPI_UNDEFINED;
#ifdef SMPI_H /* has only Cartesian ones, and no MPI_Topo_test */
    (void)handle;
    if (!strncmp(how, "Cart", 4))
        kind = MPI_CART;
#else
    (void)how;
    PMPI_Topo_test(handle, &kind);
#endif
    return kind;
}

/* Put the arrangement of the ranks, if it is a Cartesian one, and count the neighbours. */
static void put_topology(Line *line, MPI_Comm handle, Comm *comm, const char *how)
{
    int kind = comm->remote ? MPI_UNDEFINED : kind_of(handle, how), count = 0;
    if (kind == MPI_CART && !PMPI_Cartdim_get(handle, &count)) {
        int *sizes = memory(NULL, 3 * (size_t)(count + 1) * sizeof *sizes), *periods = sizes + count + 1, *place = periods + count + 1;
        PMPI_Cart_get(handle, count, sizes, periods, place);
        for (int k = 0; k < count; k++)
            periods[k] = !!periods[k];
        put(line, ",\"sizes\":[");
        put_ints(line, sizes, count);
        put(line, "],\"periodic\":[");
        put_ints(line, periods, count);
        put(line, "],\"place\":[");
        put_ints(line, place, count);
        put(line, "]");
        comm->in = comm->out = 2 * count;
        free(sizes);
#ifndef SMPI_H
    } else if (kind == MPI_GRAPH && !PMPI_Graph_neighbors_count(handle, comm->rank, &count)) {
        comm->in = comm->out = count;
    } else if (kind == MPI_DIST_GRAPH) {
        int weighted;
        PMPI_Dist_graph_neighbors_count(handle, &comm->in, &comm->out, &weighted);
#endif
    }
}

/* Give a communicator its number. */
static void comm_listed(Comm *comm)
{
    comm->number = pw_comm_count;
    if (pw_comm_count == pw_comm_room) {
        pw_comm_room = pw_comm_room ? 2 * pw_comm_room : 16;
        pw_comm_list = memory(pw_comm_list, (size_t)pw_comm_room * sizeof *pw_comm_list);
    }
    pw_comm_list[pw_comm_count++] = comm;
}

/* Define a communicator. `how` says, together with its parent and the count, which one of all members it is. */
static Comm *comm_new(MPI_Comm handle, int parent, int nth, const char *how)
{
    Comm *comm = memory(NULL, sizeof *comm);
    memset(comm, 0, sizeof *comm);
    int inter = 0;
    MPI_Group group;
    PMPI_Comm_size(handle, &comm->size);
    PMPI_Comm_rank(handle, &comm->rank);
    PMPI_Comm_test_inter(handle, &inter);
    comm_listed(comm);
    Line line = {0};
    put(&line, "{\"comm\":%d,\"parent\":%d,\"nth\":%d,\"how\":\"%s\"", comm->number, parent, nth, how);
    if (inter)
        PMPI_Comm_remote_size(handle, &comm->remote);
    if (!pw_profiling) {
        PMPI_Comm_group(handle, &group);
        put_group(&line, "ranks", group, comm->size);
    }
    if (inter && !pw_profiling) {
        PMPI_Comm_remote_group(handle, &group);
        put_group(&line, "remote", group, comm->remote);
    }
    put_topology(&line, handle, comm, how);
    put(&line, "}");
    write_line(&line);
    map_add(&pw_comms, KEY(handle))->id = comm->number;
    return comm;
}

static __attribute__((noinline)) Comm *comm_find(Thread *me, MPI_Comm handle)
{
    lock();
    unsigned generation = pw_generation;
    Entry *entry = map_get(&pw_comms, KEY(handle));
    Comm *comm = entry ? pw_comm_list[entry->id] : comm_new(handle, NOBODY, 0, handle == MPI_COMM_SELF ? "self" : "found");
    unlock();
    me->comm = handle;
    me->generation = generation;
    return me->known = comm;
}

/* Return what is known of a communicator. */
static inline Comm *comm_of(Thread *me, MPI_Comm handle)
{
    return LIKELY(me->comm == handle && me->generation == pw_generation) ? me->known : comm_find(me, handle);
}

static void all_met(MPI_Comm all);

/* A communicator was made from `parent`, or none for this process. Runs after commit(). */
static void comm_made(Thread *me, int parent, int nth, MPI_Comm handle, const char *how)
{
    if (handle == MPI_COMM_NULL)
        return;
    int64_t from = now();
    me->depth++;
    lock();
    Comm *comm = comm_new(handle, parent, nth, how);
    unlock();
    if (UNLIKELY(!pw_compared) && !comm->remote && comm->size == pw_ranks && pw_single)
        all_met(handle);
    me->depth--;
    mark(me, from);
}

static inline int comm_count(Thread *me, MPI_Comm parent) { return comm_of(me, parent)->children++; }

/* Return a number that a text has wherever it is given. */
static inline int number_of(const char *text) { return (int)(hash(text, 1) & INT_MAX); }

/* A handle is about to be freed. */
static void comm_gone(MPI_Comm handle)
{
    lock();
    if (map_get(&pw_comms, KEY(handle)))
        map_drop(&pw_comms, KEY(handle));
    pw_generation++;
    unlock();
}

static void comm_named(Thread *me, MPI_Comm handle, const char *name)
{
    Line line = {0};
    put(&line, "{\"named\":%d,\"name\":", comm_of(me, handle)->number);
    put_string(&line, name);
    put(&line, "}");
    write_line(&line);
}
