/* From handles to what is known of them. Several things may have one handle (requests that were complete at once): first in, first out. */

typedef struct {
    uint64_t key;
    int32_t head, tail; /* rows of the pool, -1 none */
} Slot;

typedef struct {
    Slot *slots;
    Entry *pool;
    uint32_t mask, used; /* of slots */
    int32_t free, top, room;
} Map;

static Map pw_requests, pw_messages, pw_windows;
static int pw_locking; /* threads may call MPI at the same time */
static int pw_lock;

static inline void lock(void)
{
    if (pw_locking)
        while (__atomic_exchange_n(&pw_lock, 1, __ATOMIC_ACQUIRE))
            sched_yield();
}

static inline void unlock(void)
{
    if (pw_locking)
        __atomic_store_n(&pw_lock, 0, __ATOMIC_RELEASE);
}

/* Return memory, or end the program: there is no way to go on. */
static void *memory(void *old, size_t bytes)
{
    void *got = realloc(old, bytes);
    if (!got) {
        fputs("perwiz: out of memory while recording\n", stderr);
        abort();
    }
    return got;
}

static inline Slot *map_slot(Map *map, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & map->mask;
    while (map->slots[at].key != key && map->slots[at].key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static void map_grow(Map *map)
{
    Slot *old = map->slots;
    uint32_t count = old ? map->mask + 1 : 0, size = count ? 2 * count : 256;
    map->slots = memory(NULL, size * sizeof *old);
    memset(map->slots, 0, size * sizeof *old);
    map->mask = size - 1;
    for (uint32_t i = 0; i < count; i++)
        if (old[i].key)
            *map_slot(map, old[i].key) = old[i];
    free(old);
}

/* Return a fresh entry under the key, behind those it has. */
static Entry *map_add(Map *map, uint64_t key)
{
    if (!map->slots || 2 * map->used > map->mask)
        map_grow(map);
    Slot *slot = map_slot(map, key);
    if (!slot->key) {
        *slot = (Slot){key, -1, -1};
        map->used++;
    }
    int32_t row = map->free - 1;
    if (row >= 0)
        map->free = map->pool[row].following;
    else {
        if (map->top == map->room) {
            map->room = map->room ? 2 * map->room : 256;
            map->pool = memory(map->pool, (size_t)map->room * sizeof *map->pool);
        }
        row = map->top++;
    }
    if (slot->head < 0)
        slot->head = row;
    else
        map->pool[slot->tail].following = row;
    slot->tail = row;
    Entry *entry = &map->pool[row];
    memset(entry, 0, sizeof *entry);
    entry->following = -1;
    return entry;
}

/* Return the first entry under the key, or NULL. */
static inline Entry *map_get(Map *map, uint64_t key)
{
    if (!map->slots || !key)
        return NULL;
    int32_t row = map_slot(map, key)->key ? map_slot(map, key)->head : -1;
    return row < 0 ? NULL : &map->pool[row];
}

/* Forget an entry under the key: the one behind `before`, the first if that is NULL. */
static inline void map_drop_behind(Map *map, uint64_t key, Entry *before)
{
    Slot *slot = map_slot(map, key);
    int32_t row = before ? before->following : slot->head, behind = map->pool[row].following;
    if (before)
        before->following = behind;
    else
        slot->head = behind;
    if (slot->tail == row)
        slot->tail = before ? (int32_t)(before - map->pool) : -1;
    map->pool[row].following = map->free;
    map->free = row + 1;
}

/* Forget the first entry under the key; there is one. */
static inline void map_drop(Map *map, uint64_t key) { map_drop_behind(map, key, NULL); }
