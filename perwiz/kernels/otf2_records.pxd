# The two functions of the OTF2 library that a Buffer holds: types that Cython's pure mode has no words for.
ctypedef unsigned int (*Count)(void *) noexcept nogil
ctypedef int (*Get)(void *, unsigned int, unsigned int *, unsigned char *, unsigned long long *) noexcept nogil
