/* A pipeline: items go through all processes, each does its stage of the work. One stage is slow, and all wait for it.

   pipeline [fast]       the slow stage computes twice as fast
   pipeline [bytes:N]    items have N bytes, usually 256 */
#include "study.h"

enum { ITEMS = 20, SLOW = 3, TIME = 20000, LONG = 50000 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 0);
    int bytes = message_bytes(argc, argv, 256);
    char *item = message(bytes);
    int slow = rank == SLOW % size, fast = given(argc, argv, "fast");
    for (int k = 0; k < ITEMS; k++) {
        PERWIZ_BEGIN("item");
        if (rank > 0)
            MPI_Recv(item, bytes, MPI_CHAR, rank - 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        PERWIZ_BEGIN(slow ? "slow stage" : "stage");
        compute(slow ? (fast ? LONG / 2 : LONG) : TIME);
        PERWIZ_END;
        if (rank < size - 1)
            MPI_Send(item, bytes, MPI_CHAR, rank + 1, k, MPI_COMM_WORLD);
        PERWIZ_END;
    }
    finish();
}
