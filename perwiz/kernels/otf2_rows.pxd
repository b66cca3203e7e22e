# Rows that several kernels of OTF2 share: those of otf2_rows.py.

cdef struct Call:
    long long enter
    long long leave
    long long sent
    long long received
    int region
    int peer
    int tag
    int comm
    int root
    unsigned short op
    unsigned char bits

cdef struct Message:
    long long bytes
    long long time
    int call
    int peer
    int tag
    int comm
    int request
    unsigned char kind

cdef struct Request:
    int posted
    int done
    unsigned char cancelled

cdef struct State:
    long long calls
    long long open
    long long depth
    long long messages
    long long regions
    long long innermost
    long long requests
    long long clock
    long long collective_time
    long long first
    long long quiet
    long long teams
    long long forked
    long long ended
    long long idle
    long long pairs
    long long internal
    long long backwards
    long long not_open
    long long not_posted
    long long undefined
    long long never_ends
    long long records
    long long sends
    long long receives
    long long polls
    long long others

cdef struct Region:
    long long enter
    long long leave
    int name
    int parent
    int first_call
    int end_call

cdef struct Frame:
    int name
    int stands_for

cdef struct Team:
    int call
    unsigned char own
