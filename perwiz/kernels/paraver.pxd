# Rows that several kernels of Paraver share: PAIR, MESSAGE and MADE of paraver.py.

cdef struct Pair:
    long long time
    long long type
    long long value
    long long line
    int location
    unsigned char last

cdef struct Message:
    long long posted
    long long awaited
    long long came
    long long bytes
    long long tag
    int sender
    int receiver

cdef struct Made:
    long long enter
    long long leave
    long long sent
    long long received
    long long comm
    int location
    int region
    int caller
    int line
    unsigned short op
    unsigned short stream
    unsigned char bits
    unsigned char level
    unsigned char line_level
