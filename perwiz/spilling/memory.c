/* Where numpy takes the memory of large arrays: from files without a name, which the system writes and reads as memory runs short.

   numpy asks whoever is set as its handler (NEP 49); each array is given back to the handler that it is of. Arrays may be freed by threads
   that run beside each other, so the list of what is in files has a lock. */

#define _GNU_SOURCE
#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#define PAGE 4096
#define SLOTS 4096
/* File systems whose files are memory: statfs(2) */
#define TMPFS 0x01021994L
#define RAMFS 0x858458f6L
/* Where the table of numpy's C interface has PyDataMem_SetHandler: numpy/_core/code_generators/numpy_api.py */
#define SET_HANDLER 304
/* The first of that table returns the version of the interface, by its highest byte that of numpy 2. */
#define VERSION 0
#define NUMPY 2

typedef struct {
    char name[127];
    uint8_t version;
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
} Handler; /* PyDataMem_Handler of numpy/ndarraytypes.h */

typedef struct Block {
    struct Block *next;
    void *place;
    size_t size;
} Block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *blocks[SLOTS]; /* Those in files, by their first page. */
static char *folder;
static size_t least, in_files, most;

static Block **slot(void *place)
{
    return &blocks[(uintptr_t)place / PAGE % SLOTS];
}

static int file_in(const char *path)
{
    return open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Return memory in a file, zeros; NULL if there is no room for it. */
static void *mapped(size_t size)
{
    Block *block = malloc(sizeof *block);
    int file = block == NULL ? -1 : file_in(folder);
    void *place = MAP_FAILED;
    if (file >= 0 && posix_fallocate(file, 0, (off_t)size) == 0)
        place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (place == MAP_FAILED) {
        free(block);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *block = (Block){*slot(place), place, size};
    *slot(place) = block;
    in_files += size;
    if (in_files > most)
        most = in_files;
    pthread_mutex_unlock(&lock);
    return place;
}

/* Return the size of what is in a file at a place, which `forget` takes off the list; 0 if it is not in one. */
static size_t size_in_file(void *place, int forget)
{
    size_t size = 0;
    if ((uintptr_t)place % PAGE)
        return 0;
    pthread_mutex_lock(&lock);
    Block **at = slot(place);
    while (*at != NULL && (*at)->place != place)
        at = &(*at)->next;
    Block *block = *at;
    if (block != NULL) {
        size = block->size;
        if (forget) {
            *at = block->next;
            in_files -= size;
            free(block);
        }
    }
    pthread_mutex_unlock(&lock);
    return size;
}

static void *take(void *context, size_t size)
{
    return size >= least ? mapped(size) : malloc(size ? size : 1);
}

static void *take_zeros(void *context, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return count * size >= least ? mapped(count * size) : calloc(count ? count : 1, size ? size : 1);
}

static void give(void *context, void *place, size_t size)
{
    size_t known = place == NULL ? 0 : size_in_file(place, 1);
    if (known)
        munmap(place, known);
    else
        free(place);
}

static void *take_anew(void *context, void *place, size_t size)
{
    size_t before = place == NULL ? 0 : size_in_file(place, 0);
    if (!before && size < least)
        return realloc(place, size ? size : 1);
    void *moved = take(context, size);
    if (moved != NULL && place != NULL) {
        before = before ? before : malloc_usable_size(place);
        memcpy(moved, place, before < size ? before : size);
        give(context, place, before);
    }
    return moved;
}

static Handler handler = {"perwiz: large arrays in files", 1, NULL, take, take_zeros, take_anew, give};

/* Let numpy take memory from a handler; return the one that it took it from before. */
static PyObject *set(PyObject *new)
{
    PyObject *numpy = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *api = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "_ARRAY_API");
    void **table = api == NULL ? NULL : PyCapsule_GetPointer(api, NULL);
    PyObject *before = NULL;
    if (table != NULL && ((unsigned int (*)(void))table[VERSION])() >> 24 != NUMPY)
        PyErr_SetString(PyExc_OSError, "this numpy has another C interface");
    else if (table != NULL)
        before = ((PyObject * (*)(PyObject *)) table[SET_HANDLER])(new);
    Py_XDECREF(api);
    Py_XDECREF(numpy);
    return before;
}

static PyObject *begin(PyObject *self, PyObject *args)
{
    PyObject *path;
    Py_ssize_t from;
    struct statfs of;
    if (!PyArg_ParseTuple(args, "O&n", PyUnicode_FSConverter, &path, &from))
        return NULL;
    int failed = statfs(PyBytes_AS_STRING(path), &of);
    if (!failed && (of.f_type == TMPFS || of.f_type == RAMFS)) {
        errno = ENODEV;
        failed = 1;
    }
    int file = failed ? -1 : file_in(PyBytes_AS_STRING(path));
    char *copy = file < 0 ? NULL : strdup(PyBytes_AS_STRING(path));
    if (copy == NULL)
        PyErr_SetFromErrno(PyExc_OSError);
    if (file >= 0)
        close(file);
    Py_DECREF(path);
    PyObject *capsule = copy == NULL ? NULL : PyCapsule_New(&handler, "mem_handler", NULL);
    if (capsule == NULL) {
        free(copy);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    free(folder);
    folder = copy;
    least = from > 0 ? (size_t)from : 1;
    most = in_files;
    pthread_mutex_unlock(&lock);
    PyObject *before = set(capsule);
    Py_DECREF(capsule);
    return before;
}

static PyObject *end(PyObject *self, PyObject *before)
{
    return set(before);
}

static PyObject *used(PyObject *self, PyObject *none)
{
    return Py_BuildValue("nn", (Py_ssize_t)in_files, (Py_ssize_t)most);
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS, NULL},
    {"end", end, METH_O, NULL},
    {"used", used, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "memory", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_memory(void)
{
    return PyModule_Create(&module);
}
