# A line of ALOG as its kernels share it: LINE of alog.py.

cdef struct Line:
    long long type
    long long process
    long long task
    long long int_data
    long long cycle
    long long time
    long long tag
    long long bytes
    long long text
    long long text_end
    long long attributes
    long long owner_number
    int location
    int state
    unsigned char status
    unsigned char owner
