/* Programs that end badly: endings HOW. One message goes round before. */
#include <mpi.h>
#include <perwiz.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";
    int rank, size, value = 1;
    if (!strcmp(how, "never")) /* comes to MPI_Init */
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(how, "kill") && rank == 1)
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "exit") && rank == 1)
        _exit(7);
    if (!strcmp(how, "fork")) {
        pid_t child = fork();
        if (!child)
            _exit(system("true"));
        waitpid(child, NULL, 0);
    }
    if (!strcmp(how, "many")) /* calls: to fill a disk */
        for (long k = 0; k < (argc > 2 ? atol(argv[2]) : 100000); k++)
            MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "regions")) /* more than anybody keeps apart: inside each other, or one after the other */
        for (int k = 0, inside = argc > 2; k < 200; k++) {
            char name[16];
            snprintf(name, sizeof name, "region %d", k);
            if (k < 100)
                PERWIZ_BEGIN(name);
            MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
            if (inside ? k >= 100 : k < 100)
                PERWIZ_END;
        }
    if (!strcmp(how, "errors")) { /* returned, not fatal */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Send(&value, 1, MPI_INT, size + 1, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "leave")) /* without MPI_Finalize, all of them */
        _exit(0);
    if (!strcmp(how, "abort") || !strcmp(how, "kill") || !strcmp(how, "exit")) /* the others wait for the dead */
        MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
