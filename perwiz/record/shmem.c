/* OpenSHMEM: what wrappers write about a call, and those that begin and end a run. Open MPI's begins MPI itself, so that the recorder has it. */

#include <shmem.h>
#include <pshmem.h>

static Map pw_sets; /* Entry.id is the number of the communicator that stands for an active set */
static uint64_t pw_heap; /* the first object of the symmetric heap */
static struct {
    uint64_t low, high;
} pw_program;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    pw_program.low = UINT64_MAX;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[k];
        uint64_t at = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            pw_program.low = at < pw_program.low ? at : pw_program.low;
            pw_program.high = at + part->p_memsz > pw_program.high ? at + part->p_memsz : pw_program.high;
        }
    }
    return 1; /* the first is the program */
}

static inline void heap(const void *object)
{
    if (!pw_heap && object)
        pw_heap = (uint64_t)(uintptr_t)object;
}

/* Note which memory a call is about, so that all PEs name an object alike: by its place in the program, or behind the first on the heap. */
static inline void symmetric(Call *call, const volatile void *object, int64_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)object;
    if (UNLIKELY(!pw_program.high))
        dl_iterate_phdr(find_program, NULL);
    int on_heap = at < pw_program.low || at >= pw_program.high;
    call->u.request = (int64_t)(((at - (on_heap ? pw_heap : pw_program.low)) & ((1ull << 48) - 1)) | (uint64_t)on_heap << 48);
    call->tag = (int)(bytes < 1 ? 1 : bytes > INT_MAX ? INT_MAX : bytes);
}

/* `span`: from the first byte that changes to the last. */
static inline void put_to_pe(Call *call, const volatile void *object, int64_t bytes, int64_t span, int pe)
{
    symmetric(call, object, span);
    call->peer = pe;
    call->comm = 0;
    call->sent = bytes;
}

static inline void got_from_pe(Call *call, int64_t bytes, int pe)
{
    call->peer = pe;
    call->comm = 0;
    call->received = bytes;
}

static Comm *set_known(uint64_t key)
{
    lock();
    Entry *entry = map_get(&pw_sets, key);
    Comm *comm = entry ? pw_comm_list[entry->id] : NULL;
    unlock();
    return comm;
}

/* Define a communicator that stands for some PEs, of which this one is `rank`; all of them are the world. */
static __attribute__((noinline)) Comm *set_new(Thread *me, uint64_t key, int *pes, int size, int rank)
{
    int first = pes[0], last = pes[size - 1], step = size > 1 ? pes[1] - first : 1, even = 1;
    for (int k = 0; k < size; k++) {
        even &= pes[k] == first + k * step;
        pes[k] += pw_first;
    }
    Comm *comm = even && !first && step == 1 && size == pw_ranks ? comm_of(me, MPI_COMM_WORLD) : NULL;
    lock();
    if (!comm) {
        comm = memory(NULL, sizeof *comm);
        *comm = (Comm){.size = size, .rank = rank};
        comm_listed(comm);
        Line line = {0};
        put(&line, "{\"comm\":%d,\"parent\":-1,\"nth\":0,\"how\":\"PEs\",\"ranks\":", comm->number);
        put_runs(&line, pes, size);
        put(&line, "}");
        write_line(&line);
        put(&line, "{\"named\":%d,\"name\":\"PEs %d to %d", comm->number, first, last);
        put(&line, !even ? ", %d of them\"}" : step > 1 ? " by %d\"}" : "\"}", even ? step : size);
        write_line(&line);
    }
    map_add(&pw_sets, key)->id = comm->number;
    unlock();
    free(pes);
    return comm;
}

/* Note in which communicator a call takes part: an active set is a number of PEs from the first on, every 2 to the `stride`-th. */
static Comm *active(Thread *me, Call *call, int first, int stride, int size)
{
    uint64_t key = 1ull << 63 | (uint64_t)stride << 56 | (uint64_t)size << 28 | (uint64_t)first;
    Comm *comm = set_known(key);
    if (UNLIKELY(!comm)) {
        int *pes = memory(NULL, (size_t)size * sizeof *pes);
        for (int k = 0; k < size; k++)
            pes[k] = first + (k << stride);
        comm = set_new(me, key, pes, size, (pw_rank - first) >> stride);
    }
    call->comm = comm->number;
    return comm;
}

/* The same of a team, where the library has them. A team that is gone may leave its name to another: that has other ends, or another size. */
#define TEAM(me, call, team)                                                                                                               \
    ({                                                                                                                                     \
        int size_ = pshmem_team_n_pes(team), first_ = pshmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);                                 \
        int last_ = pshmem_team_translate_pe(team, size_ - 1, SHMEM_TEAM_WORLD);                                                           \
        uint64_t key_ = (((uint64_t)(uintptr_t)(team) << 1 ^ (uint64_t)size_ << 42 ^ (uint64_t)first_ << 21 ^ (uint64_t)last_) | 1ull << 62)   \
                        & ~(1ull << 63);                                                                                                   \
        Comm *comm_ = set_known(key_);                                                                                                     \
        if (UNLIKELY(!comm_)) {                                                                                                            \
            int *pes_ = memory(NULL, (size_t)size_ * sizeof *pes_);                                                                        \
            for (int k_ = 0; k_ < size_; k_++)                                                                                             \
                pes_[k_] = pshmem_team_translate_pe(team, k_, SHMEM_TEAM_WORLD);                                                           \
            comm_ = set_new(me, key_, pes_, size_, pshmem_team_my_pe(team));                                                               \
        }                                                                                                                                  \
        (call)->comm = comm_->number;                                                                                                      \
        comm_;                                                                                                                             \
    })

/* Where MPI was initialised before, that is what begins the run; whichever is finalised first ends it, for it ends both. */
static void shmem_began(int first, Thread *me, int code, int64_t since, void *site)
{
    if (first)
        initialised(R_shmem_init, first, me, code, since, site);
    else if (me) {
        leave(me, code);
        commit(me);
    }
}

void shmem_init(void)
{
    BEGINNING(shmem_init);
    pshmem_init();
    shmem_began(first, me, MPI_SUCCESS, since, site);
}

int shmem_init_thread(int requested, int *provided)
{
    BEGINNING(shmem_init);
    int code = pshmem_init_thread(requested, provided);
    shmem_began(first, me, code, since, site);
    return code;
}

void start_pes(int count)
{
    BEGINNING(shmem_init);
    pstart_pes(count);
    shmem_began(first, me, MPI_SUCCESS, since, site);
}

void shmem_finalize(void)
{
    ENDING(shmem_finalize, 1);
    pshmem_finalize();
    finalised(me, MPI_SUCCESS, comm, last);
}

/* The call never returns. */
void shmem_global_exit(int status)
{
    Thread *me = enter(R_shmem_global_exit, __builtin_return_address(0));
    if (me) {
        leave(me, MPI_SUCCESS);
        commit(me);
    }
    pshmem_global_exit(status);
}

