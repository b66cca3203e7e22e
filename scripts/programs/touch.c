/* Touches pages of memory, so many faults each: rank r in the region "touch" as often as the first
   argument says, else three times, 100 (r + 1), thread t of a team 500 (t + 1). */
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "perwiz.h"

enum { PAGE = 4096 };

static void touch(int pages)
{
    char *memory = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    madvise(memory, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
    for (int k = 0; k < pages; k++)
        memory[(size_t)k * PAGE] = 1;
    munmap(memory, (size_t)pages * PAGE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int times = argc > 1 ? atoi(argv[1]) : 3;
    for (int k = 0; k < times; k++) {
        PRGN_BEGIN("touch");
        touch(100 * (rank + 1));
        PRGN_END;
        MPI_Barrier(MPI_COMM_WORLD);
    }
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
    touch(500 * (omp_get_thread_num() + 1));
#endif
    MPI_Finalize();
    return 0;
}
