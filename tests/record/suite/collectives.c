/* Collectives, communicators, windows and files, on three processes. */
#include "suite.h"

static int own[3] = {1, 1, 1}, other[3], counts[3] = {1, 1, 1}, places[3] = {0, 1, 2}, bytes[3] = {0, 4, 8};

static int blocking(void)
{
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    int one = 1, sum = 0;
    MPI_Barrier(ALL);
    MPI_Bcast(&one, 1, MPI_INT, 1, ALL);
    MPI_Gather(&one, 1, MPI_INT, other, 1, MPI_INT, 1, ALL);
    MPI_Gatherv(&one, 1, MPI_INT, other, counts, places, MPI_INT, 1, ALL);
    MPI_Scatter(own, 1, MPI_INT, &one, 1, MPI_INT, 1, ALL);
    MPI_Scatterv(own, counts, places, MPI_INT, &one, 1, MPI_INT, 1, ALL);
    MPI_Allgather(&one, 1, MPI_INT, other, 1, MPI_INT, ALL);
    MPI_Allgatherv(&one, 1, MPI_INT, other, counts, places, MPI_INT, ALL);
    MPI_Alltoall(own, 1, MPI_INT, other, 1, MPI_INT, ALL);
    MPI_Alltoallv(own, counts, places, MPI_INT, other, counts, places, MPI_INT, ALL);
    MPI_Alltoallw(own, counts, bytes, types, other, counts, bytes, types, ALL);
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 1, ALL);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, ALL);
    MPI_Reduce_scatter(own, &one, counts, MPI_INT, MPI_MAX, ALL);
    MPI_Reduce_scatter_block(own, &one, 1, MPI_INT, MPI_MAX, ALL);
    MPI_Scan(&one, other, 1, MPI_INT, MPI_SUM, ALL);
    MPI_Exscan(&one, other, 1, MPI_INT, MPI_SUM, ALL);
    return sum == 3;
}

static int at_once(void)
{
    int one = 1, sum = 0, last = 0;
    MPI_Request requests[8];
    MPI_Ibarrier(ALL, &requests[0]);
    MPI_Ibcast(&one, 1, MPI_INT, 2, ALL, &requests[1]);
    MPI_Iallreduce(own, &sum, 1, MPI_INT, MPI_SUM, ALL, &requests[2]);
    MPI_Igather(own, 1, MPI_INT, other, 1, MPI_INT, 0, ALL, &requests[3]);
    MPI_Iscan(own, &last, 1, MPI_INT, MPI_SUM, ALL, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    MPI_Ialltoall(own, 1, MPI_INT, other, 1, MPI_INT, ALL, &requests[0]);
    MPI_Wait(&requests[0], IGNORE);
    return sum == 3 && last == rank + 1;
}

static int persistent(void)
{
#if MPI_4
    int one = 1, sum = 0, all = 0;
    MPI_Request requests[3];
    MPI_Barrier_init(ALL, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(&one, 1, MPI_INT, 1, ALL, MPI_INFO_NULL, &requests[1]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, ALL, MPI_INFO_NULL, &requests[2]);
    for (int k = 0; k < 2; k++, all += sum) {
        MPI_Start(&requests[2]);
        MPI_Wait(&requests[2], IGNORE);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int k = 0; k < 2; k++) /* in any order */
        MPI_Start(&requests[(k + rank) % 2]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; k++)
        MPI_Request_free(&requests[k]);
    return all == 6;
#else
    return 1;
#endif
}

static int in_place(void)
{
    int values[3] = {1, 1, 1};
    MPI_Allreduce(MPI_IN_PLACE, values, 3, MPI_INT, MPI_SUM, ALL);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, ALL);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, ALL);
    if (rank == 0) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, 0, ALL);
        MPI_Scatter(values, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, ALL);
        MPI_Reduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, 0, ALL);
    } else {
        MPI_Gather(values, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, ALL);
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, values, 1, MPI_INT, 0, ALL);
        MPI_Reduce(values, NULL, 1, MPI_INT, MPI_SUM, 0, ALL);
    }
    return rank || values[0] == 9;
}

static void twice(void *in, void *out, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *n; k++)
        ((int *)out)[k] = 2 * ((int *)in)[k] + ((int *)out)[k];
}

static int operation(void)
{
    int one = 1, out = 0;
    MPI_Op op;
    MPI_Op_create(twice, 0, &op);
    MPI_Allreduce(&one, &out, 1, MPI_INT, op, ALL);
    MPI_Op_free(&op);
    return out > 3;
}

static int communicators(void)
{
    int list[2] = {0, 2}, good;
    MPI_Comm twin, later, part, node, pair, same = MPI_COMM_NULL;
    MPI_Group all, two;
    MPI_Request request;
    MPI_Comm_dup(ALL, &twin);
    MPI_Comm_set_name(twin, "twin");
    MPI_Barrier(twin);
    MPI_Comm_idup(ALL, &later, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Barrier(later);
    MPI_Comm_split(ALL, rank % 2, -rank, &part);
    MPI_Barrier(part);
    MPI_Comm_split_type(ALL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Barrier(node);
    MPI_Comm_group(ALL, &all);
    MPI_Group_incl(all, 2, list, &two);
    MPI_Comm_create(ALL, two, &pair);
    if (rank != 1)
        MPI_Comm_create_group(ALL, two, 5, &same);
    good = (pair == MPI_COMM_NULL) == (rank == 1);
    if (rank != 1) {
        MPI_Barrier(pair);
        MPI_Barrier(same);
        MPI_Comm_free(&same);
        MPI_Comm_free(&pair);
    }
    MPI_Group_free(&two);
    MPI_Group_free(&all);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&later);
    MPI_Comm_free(&part);
    MPI_Comm_free(&node);
    return good;
}

static int reused(void)
{
    int sum = 0;
    for (int k = 0; k < 10; k++) {
        MPI_Comm comm;
        int one = 1, all = 0;
        MPI_Comm_split(ALL, k % 2 ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm == MPI_COMM_NULL)
            continue;
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        sum += all;
    }
    return sum == 15;
}

static int between(void)
{
    int value = rank, got = -1, from_root = rank == 0 ? MPI_ROOT : 0;
    MPI_Comm half, inter, merged;
    MPI_Comm_split(ALL, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, ALL, rank ? 0 : 1, 7, &inter);
    MPI_Barrier(inter);
    MPI_Bcast(&value, 1, MPI_INT, from_root, inter);
    if (rank < 2)
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, IGNORE);
    MPI_Intercomm_merge(inter, rank > 0, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return value == 0 && (rank > 1 || got == 1 - rank);
}

static int neighbours(void)
{
    int periods[1] = {1}, sizes[1] = {3}, got[2] = {-1, -1}, both[2] = {rank, rank}, weights = 1;
    MPI_Comm ring, graph;
    MPI_Request request;
    MPI_Cart_create(ALL, 1, sizes, periods, 0, &ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
    MPI_Neighbor_alltoall(both, 1, MPI_INT, got, 1, MPI_INT, ring);
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Dist_graph_create_adjacent(ALL, 1, &before, &weights, 1, &next, &weights, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got[1], 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&ring);
    return got[1] == before;
}

static int windows(void)
{
    int *base, got = -1, one = 1, old = 0, minus = -1;
    MPI_Win win;
    MPI_Group all, to, from;
    MPI_Request request;
    MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, ALL, &base, &win);
    memset(base, 0, 4 * sizeof *base);
    MPI_Win_fence(0, win);
    MPI_Put(&one, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Comm_group(ALL, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&one, 1, MPI_INT, next, 2, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 3, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock(0, win);
    MPI_Win_lock_all(0, win);
    MPI_Compare_and_swap(&one, &minus, &old, MPI_INT, next, 2, win);
    MPI_Rput(&one, 1, MPI_INT, rank, 2, 1, MPI_INT, win, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(ALL);
    int good = got == 1 && base[1] == 1 && (rank || base[3] == 3);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    return good;
}

static int more_windows(void)
{
    int cell = 0, *shared, good;
    MPI_Win one, several, dynamic;
    MPI_Comm node;
    MPI_Comm_split_type(ALL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, ALL, &one);
    MPI_Win_allocate_shared(sizeof *shared, sizeof *shared, MPI_INFO_NULL, node, &shared, &several);
    MPI_Win_create_dynamic(MPI_INFO_NULL, ALL, &dynamic);
    MPI_Win_lock_all(0, several);
    *shared = rank;
    MPI_Win_sync(several);
    MPI_Win_unlock_all(several);
    good = *shared == rank;
    MPI_Win_free(&dynamic);
    MPI_Win_free(&several);
    MPI_Win_free(&one);
    MPI_Comm_free(&node);
    return good;
}

static int drop(MPI_Comm comm, int key, void *value, void *state)
{
    int me, *seen = state;
    (void)key, (void)value;
    ++*seen;
    return MPI_Comm_rank(comm, &me);
}

static int attributes(void)
{
    int key, seen = 0, found = 0, number = 5, *got = NULL;
    MPI_Comm twin;
    MPI_Info info, copy;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &key, &seen);
    MPI_Comm_dup(ALL, &twin);
    MPI_Comm_set_attr(twin, key, &number);
    MPI_Comm_get_attr(twin, key, &got, &found);
    MPI_Comm_free(&twin);
    MPI_Comm_free_keyval(&key);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no", "meaning");
    MPI_Comm_dup_with_info(ALL, info, &twin);
    MPI_Info_dup(info, &copy);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
    return seen == 1 && found && *got == 5;
}

static int files(void)
{
    char name[64];
    int got = -1, pid = 0;
    MPI_File file;
    MPI_Request request;
    snprintf(name, sizeof name, "%s/perwiz-suite-%p", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (void *)&pid);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, ALL);
    if (MPI_File_open(ALL, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file))
        return 1; /* not with this MPI */
    MPI_File_write_at_all(file, (MPI_Offset)(rank * sizeof rank), &rank, 1, MPI_INT, IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(ALL);
    MPI_File_iread_at(file, (MPI_Offset)(next * sizeof rank), &got, 1, MPI_INT, &request);
    MPI_Wait(&request, IGNORE);
    MPI_File_close(&file);
    return got == next;
}

static int more_at_once(void)
{
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    int one = 1, sum = 0, got[12][3] = {{0}};
    MPI_Request requests[13];
    MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, 2, ALL, &requests[0]);
    MPI_Iscatter(own, 1, MPI_INT, got[0], 1, MPI_INT, 1, ALL, &requests[1]);
    MPI_Iscatterv(own, counts, places, MPI_INT, got[1], 1, MPI_INT, 1, ALL, &requests[2]);
    MPI_Igatherv(own, 1, MPI_INT, got[2], counts, places, MPI_INT, 1, ALL, &requests[3]);
    MPI_Iallgather(own, 1, MPI_INT, got[3], 1, MPI_INT, ALL, &requests[4]);
    MPI_Iallgatherv(own, 1, MPI_INT, got[4], counts, places, MPI_INT, ALL, &requests[5]);
    MPI_Ialltoallv(own, counts, places, MPI_INT, got[5], counts, places, MPI_INT, ALL, &requests[6]);
    MPI_Ialltoallw(own, counts, bytes, types, got[6], counts, bytes, types, ALL, &requests[7]);
    MPI_Ireduce_scatter(own, got[7], counts, MPI_INT, MPI_SUM, ALL, &requests[8]);
    MPI_Ireduce_scatter_block(own, got[8], 1, MPI_INT, MPI_SUM, ALL, &requests[9]);
    MPI_Iexscan(own, got[9], 1, MPI_INT, MPI_SUM, ALL, &requests[10]);
    MPI_Waitall(11, requests, MPI_STATUSES_IGNORE);
    return got[0][0] == 1 && got[3][2] == 1 && got[6][2] == 1 && got[8][0] == 3 && (rank != 2 || sum == 3) && (!rank || got[9][0] == rank);
}

/* Messages while collectives are under way, completed together and in another order. */
static int overlapped(void)
{
    int one = 1, sum = 0, got = -1, value = rank;
    MPI_Request requests[4];
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, ALL, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, before, 1, ALL, &requests[1]);
    MPI_Ibarrier(ALL, &requests[2]);
    MPI_Isend(&value, 1, MPI_INT, next, 1, ALL, &requests[3]);
    MPI_Waitall(2, &requests[2], MPI_STATUSES_IGNORE);
    MPI_Barrier(ALL);
    MPI_Wait(&requests[1], IGNORE);
    MPI_Wait(&requests[0], IGNORE);
    return got == before && sum == 3;
}

/* Rank 1 has nothing to give, nor to get. */
static int zeros(void)
{
    int some[3] = {1, 0, 1}, none[3] = {0, 0, 0}, mine = rank != 1, got[3] = {9, 9, 9}, value[3] = {rank, rank, rank};
    int *all = mine ? some : none;
    MPI_Gatherv(value, mine, MPI_INT, got, some, places, MPI_INT, 0, ALL);
    int good = rank || (got[0] == 0 && got[1] == 9 && got[2] == 2);
    MPI_Scatterv(value, some, places, MPI_INT, got, mine, MPI_INT, 2, ALL);
    MPI_Allgatherv(value, mine, MPI_INT, got, some, places, MPI_INT, ALL);
    MPI_Alltoallv(value, all, places, MPI_INT, got, all, places, MPI_INT, ALL);
    good &= got[2] == 2;
    MPI_Reduce_scatter(value, got, some, MPI_INT, MPI_SUM, ALL);
    MPI_Bcast(NULL, 0, MPI_INT, 1, ALL);
    return good && (!mine || got[0] == 3);
}

static int more_in_place(void)
{
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    int values[3] = {1, 1, 1};
    MPI_Request request;
    MPI_Scan(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, ALL);
    int good = values[0] == rank + 1;
    MPI_Exscan(MPI_IN_PLACE, &values[1], 1, MPI_INT, MPI_SUM, ALL);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts, places, MPI_INT, ALL);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, values, counts, places, MPI_INT, ALL);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, values, counts, bytes, types, ALL);
    MPI_Reduce_scatter(MPI_IN_PLACE, values, counts, MPI_INT, MPI_MAX, ALL);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, values, 1, MPI_INT, MPI_MAX, ALL);
    if (rank == 1) {
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts, places, MPI_INT, 1, ALL);
        MPI_Scatterv(values, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 1, ALL);
    } else {
        MPI_Gatherv(values, 1, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 1, ALL);
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, values, 1, MPI_INT, 1, ALL);
    }
    values[0] = 1;
    MPI_Iallreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, ALL, &request);
    MPI_Wait(&request, IGNORE);
    return good && values[0] == 3;
}

static int large(void)
{
    int one = 1, sum = 0, got[3] = {0};
    LARGE(MPI_Bcast)(&one, 1, MPI_INT, 1, ALL);
    LARGE(MPI_Reduce)(&one, &sum, 1, MPI_INT, MPI_SUM, 0, ALL);
    LARGE(MPI_Allgather)(&one, 1, MPI_INT, got, 1, MPI_INT, ALL);
    LARGE(MPI_Alltoall)(own, 1, MPI_INT, got, 1, MPI_INT, ALL);
    LARGE(MPI_Scan)(&one, &sum, 1, MPI_INT, MPI_SUM, ALL);
    LARGE(MPI_Reduce_scatter_block)(own, got, 1, MPI_INT, MPI_SUM, ALL);
    return sum == rank + 1 && got[0] == 3;
}

/* All on a communicator of one. */
static int alone(void)
{
    int one = 1, got = 0;
    MPI_Comm single;
    MPI_Comm_split(ALL, rank, 0, &single);
    MPI_Barrier(single);
    MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, single);
    MPI_Gather(&one, 1, MPI_INT, &got, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Bcast(&got, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Comm_free(&single);
    return got == 1;
}

/* Rank 0 and the others, each with collectives between them: the root is on one side. */
static int rooted_between(void)
{
    int value = rank, got[3] = {-1, -1, -1}, one = rank > 0, root = rank == 0 ? MPI_ROOT : 0;
    int back = rank == 0 ? 1 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm half, inter;
    MPI_Comm_split(ALL, one, rank, &half);
    MPI_Intercomm_create(half, 0, ALL, one ? 0 : 1, 9, &inter);
    MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_INT, root, inter);
    int good = rank || (got[0] == 1 && got[1] == 2);
    MPI_Scatter(got, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
    good &= value == rank;
    MPI_Bcast(&value, 1, MPI_INT, back, inter); /* from rank 2 to rank 0 */
    good &= value == (rank == 1 ? 1 : 2);
    MPI_Reduce(&one, got, 1, MPI_INT, MPI_SUM, root, inter);
    good &= rank || got[0] == 2;
    MPI_Allreduce(&one, got, 1, MPI_INT, MPI_SUM, inter);
    good &= got[0] == (one ? 0 : 2);
    MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, inter);
    good &= got[0] == (one ? 0 : 1);
    int out[2] = {rank, rank};
    MPI_Alltoall(out, 1, MPI_INT, got, 1, MPI_INT, inter);
    good &= got[0] == (one ? 0 : 1);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return good;
}

/* Rank 0 meets the others of its world at a port. */
static int connected(void)
{
#ifndef MPICH_VERSION /* its builds for Python have no ports */
    char port[MPI_MAX_PORT_NAME] = "";
    int value = rank, got = -1, one = rank > 0;
    MPI_Comm half, inter, merged;
    MPI_Comm_split(ALL, one, rank, &half);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, ALL);
    if (rank == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Barrier(inter);
    if (rank < 2)
        MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, IGNORE);
    MPI_Intercomm_merge(inter, one, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&half);
    return rank > 1 || got == 1 - rank;
#else
    return 1;
#endif
}

/* A graph in which rank 0 has two neighbours and the others have one. */
static int star(void)
{
    int degrees[3] = {2, 3, 4}, edges[4] = {1, 2, 0, 0}, n = rank ? 1 : 2, value[2] = {rank, rank}, got[2] = {-1, -1};
    MPI_Aint zero[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm graph;
    MPI_Request request;
    MPI_Graph_create(ALL, 3, degrees, edges, 0, &graph);
    MPI_Neighbor_allgather(value, 1, MPI_INT, got, 1, MPI_INT, graph);
    int good = rank ? got[0] == 0 : got[0] == 1 && got[1] == 2;
    MPI_Neighbor_allgatherv(value, 1, MPI_INT, got, counts, places, MPI_INT, graph);
    MPI_Neighbor_alltoallv(value, counts, places, MPI_INT, got, counts, places, MPI_INT, graph);
    MPI_Neighbor_alltoallw(value, counts, zero, types, got, counts, zero, types, graph);
    MPI_Ineighbor_alltoall(value, 1, MPI_INT, got, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Ineighbor_alltoallw(value, counts, zero, types, got, counts, zero, types, graph, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Comm_free(&graph);
    return good && got[n - 1] == (rank ? 0 : 2);
}

/* Edges that one rank alone names, all of them from it: the others only get. */
static int distributed(void)
{
    int source = 0, degree = rank ? 0 : 2, targets[2] = {1, 2}, weights[2] = {1, 1}, value[2] = {7, 8}, got = -1, in, out, weighted;
    MPI_Comm graph;
    MPI_Request request;
    MPI_Dist_graph_create(ALL, rank ? 0 : 1, &source, &degree, targets, weights, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    int good = in == (rank > 0) && out == degree;
    MPI_Neighbor_alltoall(value, 1, MPI_INT, &got, 1, MPI_INT, graph);
    MPI_Ineighbor_allgatherv(value, 1, MPI_INT, &got, counts, places, MPI_INT, graph, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Ineighbor_alltoallv(value, counts, places, MPI_INT, &got, counts, places, MPI_INT, graph, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Comm_free(&graph);
    return good && got == (rank ? 6 + rank : -1);
}

static int lasting_neighbours(void)
{
#if MPI_4
    int periods[1] = {1}, sizes[1] = {3}, both[2] = {rank, rank}, got[2] = {-1, -1}, other_got[2] = {-1, -1};
    MPI_Comm ring;
    MPI_Request requests[2];
    MPI_Cart_create(ALL, 1, sizes, periods, 0, &ring);
    MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, got, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[0]);
    MPI_Neighbor_alltoall_init(both, 1, MPI_INT, other_got, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[1]);
    for (int k = 0; k < 2; k++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Comm_free(&ring);
    return got[0] == before && got[1] == next && other_got[0] == before;
#else
    return 1;
#endif
}

/* A line of three, and each of it alone. */
static int grid(void)
{
    int sizes[2] = {3, 1}, periods[2] = {0, 0}, keep[2] = {0, 1}, from, to, got = -1, sum = 0;
    MPI_Comm line, point;
    MPI_Cart_create(ALL, 2, sizes, periods, 0, &line);
    MPI_Cart_shift(line, 0, 1, &from, &to);
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, line, IGNORE);
    MPI_Cart_sub(line, keep, &point);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, point);
    MPI_Comm_free(&point);
    MPI_Comm_free(&line);
    return sum == rank && got == rank - 1;
}

/* A duplicate that is under way beside a message, and one of it. */
static int later(void)
{
    int value = rank, got = -1;
    MPI_Comm first, second;
    MPI_Request requests[3];
    MPI_Comm_idup(ALL, &first, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, before, 1, ALL, &requests[1]);
    MPI_Isend(&value, 1, MPI_INT, next, 1, ALL, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_idup(first, &second, &requests[0]);
    MPI_Wait(&requests[0], IGNORE);
    MPI_Comm_free(&first);
    MPI_Barrier(second);
    MPI_Comm_free(&second);
    return got == before;
}

static int atomics(void)
{
    int *base, one = 1, old[4] = {-1, -1, -1, -1}, flag = 0;
    MPI_Win win;
    MPI_Group all, to, from;
    MPI_Request request;
    MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, ALL, &base, &win);
    memset(base, 0, 4 * sizeof *base);
    MPI_Barrier(ALL);
    MPI_Win_lock_all(0, win);
    MPI_Get_accumulate(&one, 1, MPI_INT, &old[0], 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    MPI_Raccumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Rget_accumulate(&one, 1, MPI_INT, &old[1], 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Win_flush_local_all(win);
    MPI_Win_flush_all(win);
    MPI_Barrier(ALL);
    MPI_Rget(&old[2], 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Fetch_and_op(NULL, &old[3], MPI_INT, 0, 1, MPI_NO_OP, win);
    MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    MPI_Comm_group(ALL, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Win_complete(win);
    for (; !flag; usleep(1000))
        MPI_Win_test(win, &flag);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    return old[2] == 6 && old[3] == 3 && old[1] > old[0];
}

static int shared(void)
{
    int *mine, *theirs, unit;
    MPI_Aint room;
    MPI_Win win;
    MPI_Comm node;
    MPI_Comm_split_type(ALL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_fence(0, win);
    *mine = rank;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, next, &room, &unit, &theirs);
    int good = *theirs == next;
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    return good;
}

static int copied(MPI_Comm comm, int key, void *state, void *value, void *out, int *flag)
{
    int me, *seen = state;
    (void)key;
    ++*seen;
    MPI_Comm_rank(comm, &me);
    *(void **)out = value;
    *flag = 1;
    return MPI_Barrier(MPI_COMM_SELF); /* of MPI inside MPI nothing is recorded */
}

static int callbacks(void)
{
    int key, seen = 0, found = 0, number = 5, *got = NULL;
    MPI_Comm first, second;
    MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, &seen);
    MPI_Comm_dup(ALL, &first);
    MPI_Comm_set_attr(first, key, &number);
    MPI_Comm_dup(first, &second);
    MPI_Comm_get_attr(second, key, &got, &found);
    MPI_Barrier(second);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    MPI_Comm_free_keyval(&key);
    return seen == 1 && found && *got == 5;
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        {"blocking", blocking}, {"at once", at_once}, {"persistent", persistent}, {"in place", in_place}, {"operation", operation},
        {"communicators", communicators}, {"reused", reused}, {"between", between}, {"neighbours", neighbours}, {"windows", windows},
        {"more windows", more_windows}, {"attributes", attributes}, {"files", files}, {"more at once", more_at_once}, {"overlapped", overlapped},
        {"zeros", zeros}, {"more in place", more_in_place}, {"large", large}, {"alone", alone}, {"rooted between", rooted_between},
        {"connected", connected}, {"star", star}, {"distributed", distributed}, {"lasting neighbours", lasting_neighbours}, {"grid", grid},
        {"later", later}, {"atomics", atomics}, {"shared", shared}, {"callbacks", callbacks}, {NULL, NULL},
    };
    MPI_Init(&argc, &argv);
    run_cases(cases, argc, argv);
    MPI_Finalize();
    return 0;
}
