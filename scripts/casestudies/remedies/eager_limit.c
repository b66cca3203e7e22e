/* Eager limit: messages of 128 KiB are above that of Open MPI between nodes (btl_tcp_eager_limit, 64 KiB), so their sender stands still
   until the receiver comes. Both processes talk as if they were on two nodes.

   eager_limit [after]    the limit is 256 KiB: as mpiexec --mca btl_tcp_eager_limit 262144 does */
#include "../study.h"

enum { STEPS = 20, MAKE = 5000, GO_ON = 20000, BEFORE = 20000, BYTES = 1 << 17 };

int main(int argc, char **argv)
{
    setenv("OMPI_MCA_btl", "self,tcp", 1);
    if (given(argc, argv, "after"))
        setenv("OMPI_MCA_btl_tcp_eager_limit", "262144", 1);
    begin(&argc, &argv, 2);
    char *block = message(BYTES);
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0) {
            compute(MAKE);
            MPI_Send(block, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            compute(GO_ON);
        } else {
            compute(BEFORE);
            MPI_Recv(block, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    finish();
}
