/* A pipeline: items go through all processes, each does its stage of the work. One stage is slow, and all wait for it.

   pipeline [fast]       the slow stage computes twice as fast
   pipeline [uneven]     instead all stages are slow in turn, for some items each
   pipeline [ahead]      the receive of the next item is posted before the work of one
   pipeline [bytes:N]    items have N bytes, usually 256 */
#include "study.h"

enum { ITEMS = 20, SLOW = 3, TIME = 20000, LONG = 50000, SOME = 4 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 0);
    int bytes = message_bytes(argc, argv, 256), fast = given(argc, argv, "fast");
    int uneven = given(argc, argv, "uneven"), ahead = given(argc, argv, "ahead");
    char *items[2] = {message(bytes), message(bytes)};
    MPI_Request next = MPI_REQUEST_NULL;
    for (int k = 0; k < ITEMS; k++) {
        char *item = items[k % 2];
        int slow = uneven ? (k / SOME + rank) % 2 : rank == SLOW % size;
        PERWIZ_BEGIN("item");
        if (rank > 0) {
            if (next == MPI_REQUEST_NULL)
                MPI_Recv(item, bytes, MPI_CHAR, rank - 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Wait(&next, MPI_STATUS_IGNORE);
            if (ahead && k < ITEMS - 1)
                MPI_Irecv(items[(k + 1) % 2], bytes, MPI_CHAR, rank - 1, k + 1, MPI_COMM_WORLD, &next);
        }
        PERWIZ_BEGIN(slow ? "slow stage" : "stage");
        compute(slow ? (fast ? LONG / 2 : LONG) : TIME);
        PERWIZ_END;
        if (rank < size - 1)
            MPI_Send(item, bytes, MPI_CHAR, rank + 1, k, MPI_COMM_WORLD);
        PERWIZ_END;
    }
    finish();
}
