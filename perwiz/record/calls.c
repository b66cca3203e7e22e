/* What the wrappers write about a call that has returned. */

extern void *MPIR_F_MPI_IN_PLACE __attribute__((weak)); /* MPICH */
extern int mpi_fortran_in_place_ __attribute__((weak)); /* Open MPI */

static inline int in_place(const void *buffer)
{
    if (buffer == MPI_IN_PLACE)
        return 1;
    if (&mpi_fortran_in_place_ && buffer == (void *)&mpi_fortran_in_place_)
        return 1;
    return &MPIR_F_MPI_IN_PLACE && buffer == MPIR_F_MPI_IN_PLACE && buffer;
}

static inline int64_t size_of(MPI_Datatype type)
{
    int size;
    if (UNLIKELY(type == MPI_DATATYPE_NULL)) /* allowed where nothing is sent */
        return 0;
    if (LIKELY(PMPI_Type_size(type, &size) == MPI_SUCCESS && size != MPI_UNDEFINED))
        return size;
    MPI_Count wide = 0;
    PMPI_Type_size_x(type, &wide);
    return wide;
}

/* Return the bytes of a received message. */
static inline int64_t bytes_of(MPI_Status *status)
{
    int bytes;
    if (LIKELY(PMPI_Get_count(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED))
        return bytes;
    MPI_Count wide = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &wide);
    return wide == MPI_UNDEFINED ? 0 : wide;
}

static inline int partner(int rank) { return LIKELY(rank >= 0) ? rank : rank == MPI_ANY_SOURCE ? ANYBODY : NOBODY; }
static inline int tag_of(int tag) { return tag == MPI_ANY_TAG ? ANYBODY : tag; }
static inline int wild(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? ANY_TAG : 0);
}

/* ---- one message */

static inline void sent(Thread *me, Call *call, int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    call->peer = partner(dest);
    call->tag = tag;
    call->comm = comm_of(me, comm)->number;
    if (call->peer >= 0) {
        call->sent = count * size_of(type);
        call->flags |= SENDS;
    }
}

static inline void receiving(Thread *me, Call *call, int source, int tag, MPI_Comm comm)
{
    call->peer = partner(source);
    call->tag = tag_of(tag);
    call->comm = comm_of(me, comm)->number;
    call->flags |= (uint16_t)(wild(source, tag) | (source == MPI_PROC_NULL ? 0 : RECEIVES));
}

static inline void received(Thread *me, Call *call, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receiving(me, call, source, tag, comm);
    if (call->flags & RECEIVES) {
        call->peer = status->MPI_SOURCE;
        call->tag = status->MPI_TAG;
        call->received = bytes_of(status);
    }
}

static inline void exchanged(Thread *me, Call *call, int source, int rtag, MPI_Status *status)
{
    (void)me;
    call->flags |= (uint16_t)wild(source, rtag);
    call->u.from.source = call->u.from.tag = NOBODY;
    if (source != MPI_PROC_NULL) {
        call->flags |= RECEIVES;
        call->u.from.source = status->MPI_SOURCE;
        call->u.from.tag = status->MPI_TAG;
        call->received = bytes_of(status);
        if (!(call->flags & SENDS)) { /* to nobody: it only receives */
            call->peer = call->u.from.source;
            call->tag = call->u.from.tag;
        }
    }
}

/* ---- requests */

static inline int64_t new_id(void) { return pw_locking ? __atomic_fetch_add(&pw_ids, 1, __ATOMIC_RELAXED) : pw_ids++; }

/* Note that a call has completed the request it has posted: it returned none. */
static __attribute__((noinline)) Entry *posted_and_done(Call *call)
{
    static Entry unused;
    Part *row = part(pw_me, call);
    if (row)
        *row = (Part){row->call, call->u.request, 0, NOBODY, NOBODY, call->comm, DONE};
    return &unused;
}

/* Remember the request a call has returned. */
static inline Entry *posted(Call *call, MPI_Request request)
{
    int thread = pw_me->number;
    call->u.request = new_id();
    call->flags |= POSTS;
    if (UNLIKELY(request == MPI_REQUEST_NULL))
        return posted_and_done(call);
    Entry *entry = map_add(&pw_requests, KEY(request));
    entry->id = call->u.request;
    entry->comm = call->comm;
    entry->flags = call->flags;
    entry->thread = thread;
    return entry;
}

static inline void post(Call *call, MPI_Request request)
{
    lock();
    posted(call, request);
    unlock();
}

/* The same of a call that posts a send and a receive with one request. */
static void post_both(Call *call, int source, int tag, int64_t bytes, MPI_Request request)
{
    call->flags |= (uint16_t)(wild(source, tag) | (source == MPI_PROC_NULL ? 0 : RECEIVES));
    lock();
    Entry *entry = posted(call, request);
    entry->source = partner(source);
    entry->source_tag = tag_of(tag);
    entry->received = bytes;
    unlock();
}

static void idup_done(Thread *me, const Entry *was)
{
    if (was->made && *was->made != MPI_COMM_NULL) {
        lock();
        comm_new(*was->made, was->parent, was->nth, "Comm_dup");
        unlock();
    }
    (void)me;
}

/* Comm_idup: the communicator is there when the request is complete. */
static void post_comm(Thread *me, Call *call, MPI_Request request, MPI_Comm parent, MPI_Comm *made)
{
    int nth = comm_count(me, parent);
    lock();
    Entry *entry = posted(call, request);
    entry->made = made;
    entry->parent = call->comm;
    entry->nth = nth;
    Entry at_once = *entry;
    unlock();
    if (request == MPI_REQUEST_NULL)
        idup_done(me, &at_once);
}

/* Remember a request that may be started again and again: what its start is (0: it sends or receives), and its partitions, if any. */
static void persistent(Call *call, MPI_Request request, int op, int partitions)
{
    lock();
    Entry *entry = map_add(&pw_requests, KEY(request));
    entry->id = NOBODY;
    entry->op = op;
    entry->partitions = partitions;
    entry->peer = call->peer;
    entry->tag = op ? pw_comm_list[call->comm]->lasting++ : call->tag; /* all have the same number of it (MPI 4.0, 6.13) */
    entry->comm = call->comm;
    entry->bytes = call->sent;
    entry->received = call->received;
    entry->flags = call->flags | PERSISTENT;
    unlock();
    call->flags &= (uint16_t)~(SENDS | RECEIVES);
    call->sent = call->received = 0;
}

/* Start a persistent request; return what it does, with its new id. */
static inline Entry started(MPI_Request request)
{
    Entry out = {.id = NOBODY};
    lock();
    Entry *entry = map_get(&pw_requests, KEY(request));
    if (entry) {
        entry->id = new_id();
        entry->flags |= ACTIVE;
        entry->left = entry->partitions;
        out = *entry;
    }
    unlock();
    return out;
}

#define LASTING (SENDS | RECEIVES | ANY_SOURCE | ANY_TAG | MODE)

/* Return whether the start of a request sends nothing yet: partitions must be ready before. */
static inline int unready(const Entry *entry) { return entry->partitions && entry->flags & SENDS; }

/* Note what the request does that this call starts. */
static inline void does(Call *call, const Entry *entry)
{
    call->peer = entry->peer;
    call->tag = entry->tag;
    call->comm = entry->comm;
    call->sent = entry->bytes;
    call->received = entry->received;
    call->u.request = entry->id;
    call->flags |= (uint16_t)(POSTS | (entry->flags & LASTING));
}

/* A collective that starts is recorded as its twin that returns at once. Counters have the routine that was called. */
static inline void start(Call *call, MPI_Request request)
{
    Entry entry = started(request);
    if (entry.id < 0 || unready(&entry))
        return;
    does(call, &entry);
    if (entry.op && !pw_profiling)
        call->op = (uint16_t)entry.op;
}

static void start_all(Thread *me, Call *call, int count, MPI_Request *requests)
{
    call->flags |= MANY;
    for (int k = 0; k < count; k++) {
        Entry entry = started(requests[k]);
        Part *row = entry.id < 0 || entry.op || unready(&entry) ? NULL : part(me, call);
        if (!row)
            continue;
        call->sent += entry.bytes;
        row->request = entry.id;
        row->bytes = entry.bytes;
        row->peer = entry.peer;
        row->tag = entry.tag;
        row->comm = entry.comm;
        row->flags = POSTS | (entry.flags & LASTING);
    }
}

/* The collectives among requests that were started together: a record for each, behind that of the call. */
static void start_collectives(int count, const MPI_Request *requests, void *site)
{
    for (int k = 0; k < count && !pw_profiling; k++) {
        lock();
        Entry *entry = map_get(&pw_requests, KEY(requests[k])), one = entry ? *entry : (Entry){0};
        unlock();
        Thread *me = one.op ? enter(one.op, site) : NULL;
        if (me) {
            does(leave(me, MPI_SUCCESS), &one);
            commit(me);
        }
    }
}

/* So many partitions of a message are ready: with the last of them it is sent. */
static void ready(Call *call, MPI_Request request, int partitions)
{
    lock();
    Entry *entry = map_get(&pw_requests, KEY(request));
    if (entry) {
        call->peer = entry->peer;
        call->tag = entry->tag;
        call->comm = entry->comm;
        entry->left -= partitions;
        if (entry->left == 0 && entry->id >= 0)
            does(call, entry);
    }
    unlock();
}

/* Take the request of this handle away and return it; its id is -1 if there was none. Of several (an MPI may give all requests that are
   complete at once the same handle) it is the first that this thread has posted. */
static inline Entry taken(Thread *me, uint64_t key)
{
    Entry out = {.id = NOBODY};
    lock();
    Entry *entry = map_get(&pw_requests, key), *before = NULL;
    while (entry && entry->thread != me->number && entry->following >= 0) {
        before = entry;
        entry = &pw_requests.pool[entry->following];
    }
    if (entry && entry->thread != me->number && before) {
        entry = map_get(&pw_requests, key);
        before = NULL;
    }
    if (entry) {
        out = *entry;
        if (entry->flags & PERSISTENT) {
            entry->flags &= ~(ACTIVE | CANCELLING);
            entry->id = NOBODY;
        } else {
            map_drop_behind(&pw_requests, key, before);
        }
    }
    unlock();
    return out;
}

static inline int64_t looked_up(uint64_t key)
{
    lock();
    Entry *entry = map_get(&pw_requests, key);
    int64_t id = entry ? entry->id : NOBODY;
    unlock();
    return id;
}

/* Return whether a completed request was cancelled. */
static inline int cancelled(const Entry *was, MPI_Status *status)
{
    int yes = 0;
    if (UNLIKELY(was->flags & CANCELLING))
        PMPI_Test_cancelled(status, &yes);
    return yes;
}

/* Say what a receive got. MPICH (5.0.2) fills in no status of MPI_Isendrecv: there it is what was asked for. */
static inline int64_t came(const Entry *was, MPI_Status *status, int32_t *peer, int32_t *tag)
{
#ifdef MPICH_VERSION
    if (UNLIKELY(was->flags & SENDS)) {
        *peer = was->source;
        *tag = was->source_tag;
        return was->received;
    }
#endif
    (void)was;
    *peer = status->MPI_SOURCE;
    *tag = status->MPI_TAG;
    return bytes_of(status);
}

/* The request with this handle is complete. */
static inline void done(Thread *me, Call *call, uint64_t key, MPI_Status *status)
{
    Entry was = taken(me, key);
    if (was.id < 0)
        return;
    call->u.request = was.id;
    call->comm = was.comm;
    call->flags |= (uint16_t)(DONE | FOUND | (was.flags & LASTING));
    if (cancelled(&was, status)) {
        call->flags |= CANCELLED;
    } else if (was.flags & RECEIVES) {
        call->received = came(&was, status, &call->peer, &call->tag);
    }
    if (UNLIKELY(was.made != NULL))
        idup_done(me, &was);
}

/* The same for one of several. */
static void one_done(Thread *me, Call *call, uint64_t key, MPI_Status *status)
{
    Entry was = taken(me, key);
    Part *row = was.id < 0 ? NULL : part(me, call);
    if (!row)
        return;
    *row = (Part){row->call, was.id, 0, NOBODY, NOBODY, was.comm, DONE | (was.flags & LASTING)};
    if (cancelled(&was, status)) {
        row->flags |= CANCELLED;
    } else if (was.flags & RECEIVES) {
        row->bytes = came(&was, status, &row->peer, &row->tag);
        call->received += row->bytes;
    }
    if (was.made)
        idup_done(me, &was);
}

static void all_done(Thread *me, Call *call, int count, MPI_Status *statuses)
{
    call->flags |= MANY | FOUND;
    for (int k = 0; k < count; k++)
        one_done(me, call, me->keys[k], &statuses[k]);
}

static void some_done(Thread *me, Call *call, int count, const int *indices, MPI_Status *statuses)
{
    call->flags |= MANY | (count > 0 ? FOUND : 0);
    for (int k = 0; k < count; k++)
        one_done(me, call, me->keys[indices[k]], &statuses[k]);
}

/* Keep the handles of requests, before MPI replaces those that are complete. */
static inline void keep(Thread *me, int count, const MPI_Request *requests)
{
    reserve(me, count);
    for (int k = 0; k < count; k++)
        me->keys[k] = KEY(requests[k]);
}

static void cancelling(uint64_t key, Call *call)
{
    lock();
    Entry *entry = map_get(&pw_requests, key);
    if (entry) {
        entry->flags |= CANCELLING;
        call->u.request = entry->id;
    }
    unlock();
}

static void request_gone(uint64_t key, Call *call)
{
    lock();
    Entry *entry = map_get(&pw_requests, key);
    if (entry) {
        call->u.request = entry->id;
        call->flags |= entry->id < 0 ? 0 : FREED;
        map_drop(&pw_requests, key);
    }
    unlock();
}

/* ---- probes */

static inline void probed(Thread *me, Call *call, int source, int tag, MPI_Comm comm, int found, const MPI_Status *status)
{
    receiving(me, call, source, tag, comm);
    call->flags &= (uint16_t)~RECEIVES;
    if (found && source != MPI_PROC_NULL) {
        call->flags |= FOUND;
        call->peer = status->MPI_SOURCE;
        call->tag = status->MPI_TAG;
    }
}

static void message_found(Call *call, MPI_Message message)
{
    if (!(call->flags & FOUND))
        return;
    lock();
    Entry *entry = map_add(&pw_messages, KEY(message));
    entry->peer = call->peer;
    entry->tag = call->tag;
    entry->comm = call->comm;
    unlock();
}

/* The receive of a message that a probe found. */
static void message_taken(Call *call, uint64_t key)
{
    lock();
    Entry *entry = map_get(&pw_messages, key);
    if (entry) {
        call->peer = entry->peer;
        call->tag = entry->tag;
        call->comm = entry->comm;
        call->flags |= RECEIVES;
        map_drop(&pw_messages, key);
    }
    unlock();
#ifdef MPI_MESSAGE_NO_PROC
    if (key == KEY(MPI_MESSAGE_NO_PROC)) { /* of no communicator: that of all processes stands for it */
        call->tag = ANYBODY;
        call->comm = 0;
    }
#endif
}

/* ---- collectives: bytes are what the caller's own buffers give and take */

/* A count of an array of int or of MPI_Count. */
#define AT(counts, k) ((int64_t)(counts)[k])
#define SUM(total, counts, n)                                                                                                              \
    do {                                                                                                                                   \
        for (int k_ = 0; k_ < (n); k_++)                                                                                                   \
            total += AT(counts, k_);                                                                                                       \
    } while (0)

static inline Comm *together(Thread *me, Call *call, MPI_Comm handle)
{
    Comm *comm = comm_of(me, handle);
    call->comm = comm->number;
    return comm;
}

/* Partners of a collective: the other group's in an inter-communicator. */
static inline int others(const Comm *comm) { return comm->remote ? comm->remote : comm->size; }

/* Note the root; return whether the caller is it. */
static inline int rooted(Call *call, const Comm *comm, int root)
{
    call->peer = comm->remote && root == MPI_ROOT ? MYSELF : partner(root);
    return comm->remote ? root == MPI_ROOT : root == comm->rank;
}

/* Return whether the caller has no part in a rooted operation of an inter-communicator. */
static inline int idle(int root) { return root == MPI_PROC_NULL; }

/* ---- one-sided */

static void window_made(Thread *me, Call *call, MPI_Comm comm, MPI_Win window)
{
    Comm *with = together(me, call, comm);
    lock();
    call->tag = with->windows++; /* all members make them in one order */
    Entry *entry = map_add(&pw_windows, KEY(window));
    entry->comm = call->comm;
    entry->tag = call->tag;
    unlock();
}

/* Note which window it is: its number among those of its communicator stands where messages have their tag. */
static void window(Call *call, MPI_Win window)
{
    lock();
    Entry *entry = map_get(&pw_windows, KEY(window));
    if (entry) {
        call->comm = entry->comm;
        call->tag = entry->tag;
    }
    unlock();
}

static void window_gone(Call *call, MPI_Win handle)
{
    window(call, handle);
    lock();
    if (map_get(&pw_windows, KEY(handle)))
        map_drop(&pw_windows, KEY(handle));
    unlock();
}

/* Note the group of a call that opens an epoch: a part per process, a rank of the world, without flags. */
static void opens(Thread *me, Call *call, MPI_Group group)
{
    int count = 0;
    if (pw_profiling)
        return;
    PMPI_Group_size(group, &count);
    int *ranks = world_ranks(group, count);
    for (int k = 0; k < count; k++) {
        Part *row = part(me, call);
        if (row)
            *row = (Part){row->call, NOBODY, 0, ranks[k], NOBODY, call->comm, 0};
    }
    free(ranks);
}

static inline void put_to(Call *call, int target, int64_t count, MPI_Datatype type)
{
    call->peer = partner(target);
    if (call->peer >= 0)
        call->sent = count * size_of(type);
}

static inline void got_from(Call *call, int target, int64_t count, MPI_Datatype type)
{
    call->peer = partner(target);
    if (call->peer >= 0)
        call->received = count * size_of(type);
}
