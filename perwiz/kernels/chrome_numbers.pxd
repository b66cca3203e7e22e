# What reads the numbers of JSON, for the kernel that reads its objects.

cdef long long scaled(const unsigned char[::1] text, long long i, long long end, long long shift) noexcept nogil
cdef int small(const unsigned char[::1] text, long long i, long long end) noexcept nogil
cdef long long count(const unsigned char[::1] text, long long i, long long end) noexcept nogil
