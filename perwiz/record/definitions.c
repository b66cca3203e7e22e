/* Definitions of a process: one JSON object a line, written at once, so that what there is can be read at any time. */

static int pw_definitions = -1;

static uint64_t hash(const char *text, uint64_t sum)
{
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * 1099511628211u;
    return sum;
}

typedef struct {
    char *text;
    size_t used, room;
} Line;

static void put(Line *line, const char *format, ...)
{
    for (;;) {
        va_list values;
        va_start(values, format);
        int count = vsnprintf(line->text + line->used, line->room - line->used, format, values);
        va_end(values);
        if (count < 0)
            return;
        if (line->used + (size_t)count < line->room) {
            line->used += (size_t)count;
            return;
        }
        line->room = 2 * (line->room + (size_t)count);
        line->text = memory(line->text, line->room);
    }
}

/* Put a JSON string. Bytes that are no ASCII stay as they are. */
static void put_string(Line *line, const char *text)
{
    put(line, "\"");
    for (const char *p = text; *p; p++) {
        size_t plain = strcspn(p, "\"\\\x01\x02\x03\x04\x05\x06\x07\b\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f");
        put(line, "%.*s", (int)plain, p);
        p += plain;
        if (!*p)
            break;
        put(line, "\\u%04x", (unsigned char)*p);
    }
    put(line, "\"");
}

/* Put ranks of the world, or processors, as runs: first, step, count, first, step, count ... */
static void put_runs(Line *line, const int *ranks, int count)
{
    put(line, "[");
    for (int at = 0; at < count;) {
        int step = at + 1 < count ? ranks[at + 1] - ranks[at] : 1, end = at + 1;
        while (end < count && ranks[end] - ranks[end - 1] == step)
            end++;
        if (end == at + 2 && end < count) /* two make no run */
            end--;
        put(line, "%s%d,%d,%d", at ? "," : "", ranks[at], step, end - at);
        at = end;
    }
    put(line, "]");
}

static void put_ints(Line *line, const int *values, int count)
{
    for (int k = 0; k < count; k++)
        put(line, "%s%d", k ? "," : "", values[k]);
}

/* Write the line and forget it. What cannot be written is lost; the calls that need it will say so when read. */
static void write_line(Line *line)
{
    put(line, "\n");
    size_t done = 0;
    while (pw_definitions >= 0 && done < line->used) {
        ssize_t count = write(pw_definitions, line->text + done, line->used - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    free(line->text);
    *line = (Line){0};
}

static char **known_modules;
static int known_count;

/* Put the build id found in a note segment, in hexadecimal digits. */
static void put_build_id(Line *line, const char *note, size_t size)
{
    const char *end = note + size;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *head = (const void *)note;
        const char *name = note + sizeof *head, *value = name + ((head->n_namesz + 3) & ~3u);
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            for (unsigned k = 0; k < head->n_descsz; k++)
                put(line, "%02x", (unsigned char)value[k]);
            return;
        }
        note = value + ((head->n_descsz + 3) & ~3u);
    }
}

static int write_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    char self[PATH_MAX] = "";
    const char *path = info->dlpi_name;
    if (!*path && (known_count || readlink("/proc/self/exe", self, sizeof self - 1) < 0))
        return 0; /* the vdso, or no name */
    if (!*path)
        path = self;
    for (int k = 0; k < known_count; k++)
        if (!strcmp(known_modules[k], path))
            return 0;
    uint64_t low = UINT64_MAX, high = 0;
    Line line = {0};
    put(&line, "{\"module\":");
    put_string(&line, path);
    put(&line, ",\"bias\":%llu,\"build_id\":\"", (unsigned long long)info->dlpi_addr);
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[k];
        uint64_t at = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            low = at < low ? at : low;
            high = at + part->p_memsz > high ? at + part->p_memsz : high;
        }
        if (part->p_type == PT_NOTE)
            put_build_id(&line, (const char *)(uintptr_t)at, part->p_memsz);
    }
    put(&line, "\",\"begin\":%llu,\"end\":%llu}", (unsigned long long)low, (unsigned long long)high);
    known_modules = memory(known_modules, (size_t)(known_count + 1) * sizeof *known_modules);
    known_modules[known_count++] = strdup(path);
    write_line(&line);
    return 0;
}

/* Write the modules loaded since the last time: where their code is. */
static void write_modules(void) { dl_iterate_phdr(write_module, NULL); }
