# cython: boundscheck=False, wraparound=False
# What reads the records of DUMPI, for those that are made of it.

cimport cython
cdef inline long long u16(const unsigned char[::1] data, long long at) noexcept nogil:
    cdef const unsigned char *here = &data[at]
    return (<unsigned int> here[0] << 8) | <unsigned int> here[1]

cdef inline long long u32(const unsigned char[::1] data, long long at) noexcept nogil:
    cdef const unsigned char *here = &data[at]
    return (<unsigned int> here[0] << 24) | (<unsigned int> here[1] << 16) | (<unsigned int> here[2] << 8) | <unsigned int> here[3]

cdef inline long long i32(const unsigned char[::1] data, long long at) noexcept nogil:
    return <int> u32(data, at)

cdef struct Function:
    short op
    unsigned char does
    unsigned char mode
    unsigned char moves
    unsigned char steps
    unsigned char defines
    int first_step
    int fixed
    int comm_at

cdef struct Argument:
    unsigned char kind
    unsigned char slot
    unsigned char at_root

cdef struct Threads:
    long long calls
    long long first
    long long last

cdef struct Walk:
    long long at
    long long second
    long long era
    long long records
    long long defined
    long long change
    long long actions
    long long posts
    long long untimed
    long long backwards
    long long strangers
    long long to_nobody
    long long not_posted
    long long counters
    long long regions
    long long unsized
    long long torn
    long long alone
    long long ranks
    long long own

cdef class Records:
    cdef const unsigned char[::1] data
    cdef long long end
    cdef const Function[::1] functions
    cdef const Argument[::1] arguments
    cdef int status
    cdef long long[::1] value
    cdef Walk[::1] walk

    @cython.final
    cdef long long list_end(self, long long at, long long width) noexcept nogil
    @cython.final
    cdef long long lists_end(self, long long at, long long width, int deep) noexcept nogil
    @cython.final
    cdef long long argument(self, long long at, int kind, int slot) noexcept nogil
    @cython.final
    cdef long long clock(self, long long at) noexcept nogil
    @cython.final
    cdef long long head(self) noexcept nogil
    @cython.final
    cdef long long body(self, long long at) noexcept nogil
    @cython.final
    cdef long long skip(self, long long at) noexcept nogil
