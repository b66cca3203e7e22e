/* Messages and requests, on three processes. */
#include "suite.h"

static int ring(void)
{
    int value = rank, got = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, ALL, IGNORE);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 2, before, 2, ALL, IGNORE);
    return got == before && value == before;
}

static int self(void)
{
    int value = rank, got = -1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, IGNORE);
    MPI_Wait(&request, IGNORE);
    return got == rank;
}

static int modes(void)
{
    int value = rank, got = -1, length = 4096;
    void *room = malloc((size_t)length);
    MPI_Request requests[7];
    for (int k = 0; k < 7; k++)
        MPI_Irecv(&got, 1, MPI_INT, before, k, ALL, &requests[k]);
    MPI_Barrier(ALL);
    MPI_Buffer_attach(room, length);
    MPI_Request sends[4];
    MPI_Bsend(&value, 1, MPI_INT, next, 0, ALL);
    MPI_Rsend(&value, 1, MPI_INT, next, 1, ALL);
    MPI_Send(&value, 1, MPI_INT, next, 2, ALL);
    MPI_Isend(&value, 1, MPI_INT, next, 3, ALL, &sends[0]);
    MPI_Issend(&value, 1, MPI_INT, next, 4, ALL, &sends[1]);
    MPI_Irsend(&value, 1, MPI_INT, next, 5, ALL, &sends[2]);
    MPI_Ibsend(&value, 1, MPI_INT, next, 6, ALL, &sends[3]);
    MPI_Waitall(7, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&room, &length);
    free(room);
    return got == before;
}

static int nobody(void)
{
    int value = 0, flag = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, ALL);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, ALL, IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT, MPI_PROC_NULL, 1, ALL, IGNORE);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, ALL, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Probe(MPI_PROC_NULL, 1, ALL, IGNORE);
    MPI_Iprobe(MPI_PROC_NULL, 1, ALL, &flag, IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 1, ALL, &message, IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 1, ALL, &message, IGNORE);
    MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, IGNORE);
    return flag;
}

static int wild(void)
{
    int value = rank, sum = 0;
    for (int k = 1; rank == 0 && k < size; k++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, ALL, IGNORE);
        sum += value;
    }
    if (rank)
        MPI_Send(&value, 1, MPI_INT, 0, rank, ALL);
    return rank || sum == 3;
}

static int probes(void)
{
    int value = rank, got = -1, flag = 0, count = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, next, 1, ALL, &request);
    MPI_Probe(MPI_ANY_SOURCE, 1, ALL, &status);
    for (; !flag; usleep(1000))
        MPI_Iprobe(before, MPI_ANY_TAG, ALL, &flag, IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Recv(&got, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, ALL, IGNORE);
    MPI_Wait(&request, IGNORE);
    return got == before;
}

static int matched(void)
{
    int value = rank, one = -1, other = -1, flag = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Send(&value, 1, MPI_INT, next, 1, ALL);
    MPI_Mprobe(MPI_ANY_SOURCE, 1, ALL, &message, IGNORE);
    MPI_Mrecv(&one, 1, MPI_INT, &message, IGNORE);
    MPI_Send(&value, 1, MPI_INT, next, 2, ALL);
    for (; !flag; usleep(1000))
        MPI_Improbe(before, 2, ALL, &flag, &message, IGNORE);
    MPI_Imrecv(&other, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, IGNORE);
    return one == before && other == before;
}

static int cancelled(void)
{
    int value, yes = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, before, 99, ALL, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &yes);
    return yes;
}

static int freed(void)
{
    int value = rank, got = -1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, next, 1, ALL, &request);
    MPI_Request_free(&request);
    MPI_Recv(&got, 1, MPI_INT, before, 1, ALL, IGNORE);
    MPI_Barrier(ALL);
    return got == before && request == MPI_REQUEST_NULL;
}

static int flood(void)
{
    enum { MANY = 200 };
    static int values[MANY], got[MANY];
    MPI_Request requests[2 * MANY];
    int good = 1;
    for (int k = 0; k < MANY; k++) {
        values[k] = rank + k;
        MPI_Irecv(&got[k], 1, MPI_INT, before, k % 3, ALL, &requests[k]);
        MPI_Isend(&values[k], 1, MPI_INT, next, k % 3, ALL, &requests[MANY + k]);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < MANY; k++)
        good &= got[k] == before + k;
    return good;
}

static int some(void)
{
    int values[4] = {0}, index, count = 0, indices[4], done = 0;
    MPI_Request requests[4];
    for (int k = 0; k < 4; k++)
        MPI_Irecv(&values[k], 1, MPI_INT, before, k, ALL, &requests[k]);
    for (int k = 0; k < 4; k++)
        MPI_Send(&k, 1, MPI_INT, next, k, ALL);
    MPI_Waitany(4, requests, &index, IGNORE);
    for (done = 1; done < 4; done += count)
        MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    return done == 4 && count == MPI_UNDEFINED;
}

static int tests(void)
{
    int values[4] = {0}, index, count = 0, indices[4], flag, done = 0;
    MPI_Request requests[4], one;
    MPI_Irecv(&values[0], 1, MPI_INT, before, 9, ALL, &one);
    MPI_Send(&rank, 1, MPI_INT, next, 9, ALL);
    for (flag = 0; !flag; usleep(1000))
        MPI_Test(&one, &flag, IGNORE);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 4; k++)
            MPI_Irecv(&values[k], 1, MPI_INT, before, k, ALL, &requests[k]);
        for (int k = 0; k < 4; k++)
            MPI_Send(&k, 1, MPI_INT, next, k, ALL);
        for (flag = 0; round == 0 && !flag; usleep(1000))
            MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
        for (done = 0; round == 1 && done < 4; done += flag, usleep(1000))
            MPI_Testany(4, requests, &index, &flag, IGNORE);
        for (done = 0; round == 2 && done < 4; done += count, usleep(1000))
            MPI_Testsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    }
    return values[3] == 3;
}

static int persistent(void)
{
    int value, got = -1, good = 1;
    MPI_Request requests[2], one;
    MPI_Recv_init(&got, 1, MPI_INT, before, 1, ALL, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, next, 1, ALL, &requests[1]);
    MPI_Ssend_init(&value, 1, MPI_INT, next, 2, ALL, &one);
    for (int k = 0; k < 3; k++) {
        value = rank + k;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        good &= got == before + k;
    }
    MPI_Start(&one);
    MPI_Recv(&got, 1, MPI_INT, before, 2, ALL, IGNORE);
    MPI_Wait(&one, IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&one);
    return good;
}

static int types(void)
{
    int values[8] = {0, 1, 2, 3, 4, 5, 6, 7}, got[4] = {0}, lengths[2] = {1, 2};
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype kinds[2] = {MPI_INT, MPI_CHAR}, vector, mixed;
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_create_struct(2, lengths, places, kinds, &mixed);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&mixed);
    MPI_Sendrecv(values, 1, vector, next, 1, got, 4, MPI_INT, before, 1, ALL, IGNORE);
    MPI_Sendrecv(values, 1, mixed, next, 2, values, 1, mixed, before, 2, ALL, IGNORE);
    MPI_Sendrecv(NULL, 0, MPI_INT, next, 3, NULL, 0, MPI_INT, before, 3, ALL, IGNORE);
    MPI_Type_free(&vector);
    MPI_Type_free(&mixed);
    return got[3] == 6;
}

static int null_type(void)
{
#ifdef MPICH_VERSION /* Open MPI takes it for an error */
    MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, next, 1, NULL, 0, MPI_DATATYPE_NULL, before, 1, ALL, IGNORE);
#else
    MPI_Sendrecv(NULL, 0, MPI_BYTE, next, 1, NULL, 0, MPI_BYTE, before, 1, ALL, IGNORE);
#endif
    return 1;
}

static int large(void)
{
    int value = rank, got = -1;
    MPI_Request request;
    LARGE(MPI_Irecv)(&got, 1, MPI_INT, before, 1, ALL, &request);
    LARGE(MPI_Send)(&value, 1, MPI_INT, next, 1, ALL);
    MPI_Wait(&request, IGNORE);
    LARGE(MPI_Allreduce)(&value, &got, 1, MPI_INT, MPI_SUM, ALL);
    return got == 3;
}

static int errors(void)
{
    int value = 0, failed = 0;
    MPI_Comm_set_errhandler(ALL, MPI_ERRORS_RETURN);
    failed += MPI_Send(&value, 1, MPI_INT, size + 1, 0, ALL) != MPI_SUCCESS;
    failed += MPI_Bcast(&value, 1, MPI_INT, size + 1, ALL) != MPI_SUCCESS;
    MPI_Comm_set_errhandler(ALL, MPI_ERRORS_ARE_FATAL);
    return failed == 2;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state) { return state ? MPI_SUCCESS : MPI_SUCCESS; }
static int cancel(void *state, int complete) { return state && complete ? MPI_SUCCESS : MPI_SUCCESS; }

static int generalised(void)
{
    int flag = 0;
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Test(&request, &flag, IGNORE);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, IGNORE);
    return !flag;
}

static int asked(void)
{
    int value = rank, got = -1, flag = 0;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, before, 1, ALL, &request);
    MPI_Send(&value, 1, MPI_INT, next, 1, ALL);
    for (; !flag; usleep(1000))
        MPI_Request_get_status(request, &flag, IGNORE);
    MPI_Wait(&request, IGNORE);
    return got == before;
}

static int both(void)
{
#if MPI_4
    int value = rank, got = -1;
    MPI_Request requests[2];
    MPI_Isendrecv(&value, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, ALL, &requests[0]);
    MPI_Wait(&requests[0], IGNORE);
    MPI_Isendrecv_replace(&value, 1, MPI_INT, next, 2, before, 2, ALL, &requests[0]);
    MPI_Isendrecv(&got, 1, MPI_INT, MPI_PROC_NULL, 3, &got, 1, MPI_INT, MPI_PROC_NULL, 3, ALL, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return value == before && got == before;
#else
    return 1;
#endif
}

static int partitions(void)
{
#if MPI_4
    int values[6], got[6] = {0}, list[2] = {5, 3}, flag = 0;
    MPI_Request requests[2];
    MPI_Psend_init(values, 6, 1, MPI_INT, next, 1, ALL, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(got, 6, 1, MPI_INT, before, 1, ALL, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, requests);
        for (int k = 0; k < 6; k++)
            values[k] = rank + k + round;
        MPI_Pready(0, requests[0]);
        MPI_Pready_list(2, list, requests[0]);
        MPI_Pready_range(1, 2, requests[0]);
        MPI_Pready(4, requests[0]);
        for (flag = 0; !flag; usleep(1000))
            MPI_Parrived(requests[1], 4, &flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return got[5] == before + 6;
#else
    return 1;
#endif
}

/* A chain that is no ring: those at its ends have nobody. */
static int chain(void)
{
    int value = rank, to = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, from = rank ? rank - 1 : MPI_PROC_NULL;
    MPI_Status status;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, to, 1, from, 1, ALL, &status);
    int good = value == (rank ? rank - 1 : 0);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 2, MPI_ANY_SOURCE, MPI_ANY_TAG, ALL, &status);
    return good && status.MPI_SOURCE == before && status.MPI_TAG == 2;
}

static int buffered(void)
{
    int value = rank, got[4], length = 8192;
    void *room = malloc((size_t)length);
    MPI_Request one, lasting;
    MPI_Buffer_attach(room, length);
    MPI_Bsend(&value, 1, MPI_INT, next, 1, ALL);
    MPI_Ibsend(&value, 1, MPI_INT, next, 1, ALL, &one);
    MPI_Bsend_init(&value, 1, MPI_INT, next, 1, ALL, &lasting);
    MPI_Start(&lasting);
    MPI_Wait(&lasting, IGNORE);
    MPI_Start(&lasting);
    MPI_Wait(&lasting, IGNORE);
    MPI_Wait(&one, IGNORE);
    for (int k = 0; k < 4; k++)
        MPI_Recv(&got[k], 1, MPI_INT, before, 1, ALL, IGNORE);
    MPI_Request_free(&lasting);
    MPI_Buffer_detach(&room, &length);
    free(room);
    return got[0] == before && got[3] == before;
}

/* Ready sends know that their receives wait: the receiver has said so. */
static int told_ready(void)
{
    int value = rank, got[2] = {-1, -1};
    MPI_Request in[2], out[2];
    MPI_Rsend_init(&value, 1, MPI_INT, next, 1, ALL, &out[0]);
    MPI_Irecv(&got[0], 1, MPI_INT, before, 1, ALL, &in[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, before, 2, ALL, &in[1]);
    MPI_Sendrecv(NULL, 0, MPI_INT, before, 3, NULL, 0, MPI_INT, next, 3, ALL, IGNORE);
    MPI_Start(&out[0]);
    MPI_Irsend(&value, 1, MPI_INT, next, 2, ALL, &out[1]);
    MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, in, MPI_STATUSES_IGNORE);
    MPI_Request_free(&out[0]);
    return got[0] == before && got[1] == before;
}

static int holes(void)
{
    struct {
        char sign;
        double number;
    } out[3] = {{'a', 1}, {'b', 2}, {'c', 3}}, in[3] = {{0, 0}};
    int lengths[2] = {1, 1}, sizes[2] = {4, 4}, part[2] = {2, 2}, first[2] = {1, 1}, grid[16], got[4], places[2] = {3, 0};
    MPI_Aint at[2] = {0, (char *)&out[0].number - (char *)&out[0]};
    MPI_Datatype kinds[2] = {MPI_CHAR, MPI_DOUBLE}, bare, whole, square, pair, empty;
    for (int k = 0; k < 16; k++)
        grid[k] = k;
    MPI_Type_create_struct(2, lengths, at, kinds, &bare);
    MPI_Type_create_resized(bare, 0, sizeof out[0], &whole);
    MPI_Type_create_subarray(2, sizes, part, first, MPI_ORDER_C, MPI_INT, &square);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &pair);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&whole);
    MPI_Type_commit(&square);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&empty);
    MPI_Sendrecv(out, 3, whole, next, 1, in, 3, whole, before, 1, ALL, IGNORE);           /* 27 bytes */
    MPI_Sendrecv(grid, 1, square, next, 2, got, 4, MPI_INT, before, 2, ALL, IGNORE);      /* 16 */
    int good = in[2].sign == 'c' && in[2].number == 3 && got[0] == 5 && got[3] == 10;
    MPI_Sendrecv(grid, 1, pair, next, 3, got, 2, MPI_INT, before, 3, ALL, IGNORE);        /* 8 */
    MPI_Sendrecv(grid, 7, empty, next, 4, got, 7, empty, before, 4, ALL, IGNORE);         /* 0 */
    MPI_Type_free(&empty);
    MPI_Type_free(&pair);
    MPI_Type_free(&square);
    MPI_Type_free(&whole);
    MPI_Type_free(&bare);
    return good && got[0] == 3 && got[1] == 0;
}

static int packed(void)
{
    char room[64];
    int place = 0, value = rank, got = -1;
    double half = rank / 2.0, other = -1;
    MPI_Status status;
    MPI_Request request;
    MPI_Pack(&value, 1, MPI_INT, room, sizeof room, &place, ALL);
    MPI_Pack(&half, 1, MPI_DOUBLE, room, sizeof room, &place, ALL);
    MPI_Isend(room, place, MPI_PACKED, next, 1, ALL, &request);
    char came[64];
    MPI_Recv(came, sizeof came, MPI_PACKED, before, 1, ALL, &status);
    MPI_Wait(&request, IGNORE);
    place = 0;
    MPI_Unpack(came, sizeof came, &place, &got, 1, MPI_INT, ALL);
    MPI_Unpack(came, sizeof came, &place, &other, 1, MPI_DOUBLE, ALL);
    return got == before && other == before / 2.0;
}

static int nothing(void)
{
    int index = 0, flag = 0, count = 0, indices[2];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Wait(&requests[0], IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitany(2, requests, &index, IGNORE);
    int good = index == MPI_UNDEFINED;
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    good &= count == MPI_UNDEFINED;
    MPI_Test(&requests[0], &flag, IGNORE);
    good &= flag;
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    good &= flag;
    MPI_Testany(2, requests, &index, &flag, IGNORE);
    good &= flag && index == MPI_UNDEFINED;
    MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    return good && count == MPI_UNDEFINED;
}

/* Receives of messages that a probe matched overtake each other. */
static int taken(void)
{
    int one = 1, two = 2, first = -1, second = -1;
    MPI_Message messages[2];
    MPI_Request requests[4];
    MPI_Isend(&one, 1, MPI_INT, next, 1, ALL, &requests[0]);
    MPI_Isend(&two, 1, MPI_INT, next, 1, ALL, &requests[1]);
    MPI_Mprobe(before, 1, ALL, &messages[0], IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ALL, &messages[1], IGNORE);
    MPI_Imrecv(&second, 1, MPI_INT, &messages[1], &requests[2]);
    MPI_Imrecv(&first, 1, MPI_INT, &messages[0], &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    return first == 1 && second == 2;
}

/* A communicator is freed while its messages are under way. */
static int gone(void)
{
    int value = rank, got = -1, other = -1;
    MPI_Comm twin, again;
    MPI_Request requests[4];
    MPI_Comm_dup(ALL, &twin);
    MPI_Irecv(&got, 1, MPI_INT, before, 1, twin, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, next, 1, twin, &requests[1]);
    MPI_Comm_free(&twin);
    MPI_Comm_dup(ALL, &again); /* may have the handle of the first */
    MPI_Irecv(&other, 1, MPI_INT, next, 1, again, &requests[2]);
    MPI_Isend(&value, 1, MPI_INT, before, 1, again, &requests[3]);
    MPI_Comm_free(&again);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    return got == before && other == next;
}

/* The same tag on communicators made from each other: each has its own messages. */
static int twins(void)
{
    int out[3] = {1, 2, 3}, got[3] = {0};
    MPI_Comm comms[3];
    MPI_Request requests[3];
    MPI_Comm_dup(ALL, &comms[0]);
    MPI_Comm_dup(comms[0], &comms[1]);
    MPI_Comm_dup(comms[1], &comms[2]);
    for (int k = 0; k < 3; k++)
        MPI_Isend(&out[k], 1, MPI_INT, next, 1, comms[k], &requests[k]);
    for (int k = 2; k >= 0; k--)
        MPI_Recv(&got[k], 1, MPI_INT, before, 1, comms[k], IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; k++)
        MPI_Comm_free(&comms[k]);
    return got[0] == 1 && got[1] == 2 && got[2] == 3;
}

/* A persistent receive is cancelled and started again; one that has its message is cancelled too late. */
static int late_cancel(void)
{
    int value = rank, got = -1, other = -1, yes = 0, no = 1;
    MPI_Request lasting, one;
    MPI_Status status;
    MPI_Recv_init(&got, 1, MPI_INT, before, 1, ALL, &lasting);
    MPI_Start(&lasting);
    MPI_Cancel(&lasting);
    MPI_Wait(&lasting, &status);
    MPI_Test_cancelled(&status, &yes);
    MPI_Barrier(ALL); /* nobody sends before all have cancelled */
    MPI_Start(&lasting);
    MPI_Irecv(&other, 1, MPI_INT, before, 2, ALL, &one);
    MPI_Send(&value, 1, MPI_INT, next, 2, ALL);
    MPI_Send(&value, 1, MPI_INT, next, 1, ALL);
    MPI_Wait(&lasting, IGNORE); /* the other came before */
    MPI_Cancel(&one);
    MPI_Wait(&one, &status);
    MPI_Test_cancelled(&status, &no);
    MPI_Request_free(&lasting);
    return yes && !no && got == before && other == before;
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int me;
    handled += *code != MPI_SUCCESS;
    MPI_Comm_rank(*comm, &me);
}

/* A handler of the program's own, and errors that posting and collective calls return, beside a message that comes. MPICH returns success
   after such a handler: it is called for no call here. */
static int handlers(void)
{
    int value = rank, got = -1, failed = 0;
    MPI_Errhandler own;
    MPI_Comm twin;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(ALL, &twin);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(twin, own);
    MPI_Comm_call_errhandler(twin, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    failed += MPI_Isend(&value, 1, MPI_INT, size, 1, twin, &request) != MPI_SUCCESS;
    failed += MPI_Irecv(&got, -1, MPI_INT, before, 1, twin, &request) != MPI_SUCCESS;
    failed += MPI_Reduce(&value, &got, 1, MPI_INT, MPI_SUM, -7, twin) != MPI_SUCCESS;
    request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, before, 1, twin, &request);
    MPI_Send(&value, 1, MPI_INT, next, 1, twin);
    MPI_Wait(&request, IGNORE);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&twin);
    return handled == 1 && failed == 3 && got == before;
}

static int large_too(void)
{
    int value = rank, got = -1, good;
    MPI_Request requests[2];
    LARGE(MPI_Sendrecv)(&value, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, ALL, IGNORE);
    good = got == before;
    LARGE(MPI_Isend)(&value, 1, MPI_INT, next, 2, ALL, &requests[0]);
    LARGE(MPI_Recv_init)(&got, 1, MPI_INT, before, 2, ALL, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[1]);
    LARGE(MPI_Sendrecv_replace)(&value, 1, MPI_INT, next, 3, before, 3, ALL, IGNORE);
    return good && got == before && value == before;
}

/* A generalised request among those of messages. */
static int mixed(void)
{
    int value = rank, got = -1;
    MPI_Request requests[3];
    MPI_Grequest_start(query, release, cancel, NULL, &requests[1]);
    MPI_Irecv(&got, 1, MPI_INT, before, 1, ALL, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, next, 1, ALL, &requests[2]);
    MPI_Grequest_complete(requests[1]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    return got == before;
}

static int tools(void)
{
    int level, count = -1, pvars = -1, value = rank, got = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_cvar_get_num(&count);
    MPI_T_pvar_get_num(&pvars);
    MPI_Sendrecv(&value, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, ALL, IGNORE);
    MPI_T_finalize();
    return count >= 0 && pvars >= 0 && got == before;
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        {"ring", ring}, {"self", self}, {"modes", modes}, {"nobody", nobody}, {"wild", wild}, {"probes", probes}, {"matched", matched},
        {"cancelled", cancelled}, {"freed", freed}, {"flood", flood}, {"some", some}, {"tests", tests}, {"persistent", persistent},
        {"types", types}, {"null type", null_type}, {"large", large}, {"errors", errors}, {"generalised", generalised}, {"asked", asked},
        {"both", both}, {"partitions", partitions}, {"chain", chain}, {"buffered", buffered}, {"told ready", told_ready},
        {"holes", holes}, {"packed", packed}, {"nothing", nothing}, {"taken", taken}, {"gone", gone}, {"twins", twins},
        {"late cancel", late_cancel}, {"handlers", handlers}, {"large too", large_too}, {"mixed", mixed}, {"tools", tools}, {NULL, NULL},
    };
    MPI_Init(&argc, &argv);
    run_cases(cases, argc, argv);
    MPI_Finalize();
    return 0;
}
