/* Files of rows that numpy maps. Rows are written straight into mapped windows, so that what was recorded survives any end. */

#define HEADER 384
#define PAGE 4096

static const char pw_calls_descr[] =
    "[('enter','<i8'),('leave','<i8'),('site','<u8'),('sent','<i8'),('received','<i8'),('request','<i8'),"
    "('peer','<i4'),('tag','<i4'),('comm','<i4'),('op','<u2'),('flags','<u2')]";
static const char pw_parts_descr[] =
    "[('call','<i8'),('request','<i8'),('bytes','<i8'),('peer','<i4'),('tag','<i4'),('comm','<i4'),('flags','<i4')]";

static size_t pw_window = 1 << 18; /* bytes */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Write the header of an .npy file of so many rows. */
static int file_header(File *file, int64_t rows)
{
    char text[HEADER + 1] = "\x93NUMPY\x01";
    text[8] = (char)((HEADER - 10) & 255);
    text[9] = (char)((HEADER - 10) >> 8);
    int used = 10 + snprintf(text + 10, HEADER - 10, "{'descr': %s, 'fortran_order': False, 'shape': (%lld,), }",
                             file->descr, (long long)rows);
    memset(text + used, ' ', (size_t)(HEADER - used));
    text[HEADER - 1] = '\n';
    return pwrite(file->fd, text, HEADER, 0) == HEADER ? 0 : -1;
}

/* Close the window and return the rows there are. */
static int64_t file_unmap(File *file)
{
    if (file->base) {
        file->rows += (file->next - file->first) / file->row;
        munmap(file->base, file->mapped);
        file->base = NULL;
    }
    return file->rows;
}

/* Write zeros, so that the room is there and its pages are in memory; return 0, or -1 with errno. */
static int file_extend(int fd, off_t at, off_t end)
{
    static const char zeros[1 << 16];
    while (at < end) {
        size_t left = (size_t)(end - at);
        ssize_t count = pwrite(fd, zeros, left < sizeof zeros ? left : sizeof zeros, at);
        if (count <= 0 && errno != EINTR)
            return -1;
        at += count > 0 ? count : 0;
    }
    return 0;
}

/* Go on to the next window; return 0, or -1 with errno when there is no room. */
static int file_roll(File *file)
{
    int64_t rows = file_unmap(file);
    off_t at = HEADER + rows * file->row, page = at & ~(off_t)(PAGE - 1);
    size_t count = pw_window / (size_t)file->row;
    size_t mapped = (size_t)(at - page) + count * (size_t)file->row;
    if (file_header(file, rows) || file_extend(file->fd, at, page + (off_t)mapped))
        return -1;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, page);
    if (base == MAP_FAILED)
        return -1;
    file->base = base;
    file->mapped = mapped;
    file->first = file->next = base + (at - page);
    file->end = file->first + count * (size_t)file->row;
    if (madvise(base, mapped, MADV_POPULATE_WRITE))
        for (volatile char *p = file->end - 1; p >= file->first; p -= PAGE)
            *p = 0; /* now, not in the middle of a measurement */
    return 0;
}

/* Make a file and its first window; return 0, or -1 with errno. */
static int file_open(File *file, const char *path, const char *descr, size_t row)
{
    memset(file, 0, sizeof *file);
    file->descr = descr;
    file->row = (int)row;
    file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file->fd < 0 ? -1 : file_roll(file);
}

/* Cut the file to its rows and close it. */
static void file_close(File *file)
{
    if (file->fd < 0)
        return;
    int64_t rows = file_unmap(file);
    if (ftruncate(file->fd, HEADER + rows * file->row) == 0)
        file_header(file, rows);
    close(file->fd);
    file->fd = -1;
    file->next = file->end = NULL;
}
