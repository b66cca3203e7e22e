# A row of OTF2: RECORD of records.py.

cdef struct Record:
    unsigned short kind
    unsigned short inside
    int number
    long long time
    long long reference
    long long communicator
    long long tag
    long long amount
    long long request
    long long received
    int calls
    int region
