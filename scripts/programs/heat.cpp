// Heat in a square: Jacobi, rows shared out, edges exchanged without blocking: heat [WIDTH [STEPS]].
// Prints the last change, the calls of all processes in the loop, and the seconds of processor time they took there.
#include <mpi.h>
#include <perwiz.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

class Heat {
public:
    Heat(int width, MPI_Comm comm) : width_(width), comm_(comm)
    {
        int rank, size;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        rows_ = width / size + (rank < width % size);
        up_ = rank ? rank - 1 : MPI_PROC_NULL;
        down_ = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
        now_.assign((rows_ + 2) * width, rank ? 0 : 1);
        next_ = now_;
    }

    double step()
    {
        MPI_Request requests[4];
        MPI_Irecv(&now_[0], width_, MPI_DOUBLE, up_, 1, comm_, &requests[0]);
        MPI_Irecv(&now_[(rows_ + 1) * width_], width_, MPI_DOUBLE, down_, 2, comm_, &requests[1]);
        MPI_Isend(&now_[rows_ * width_], width_, MPI_DOUBLE, down_, 1, comm_, &requests[2]);
        MPI_Isend(&now_[width_], width_, MPI_DOUBLE, up_, 2, comm_, &requests[3]);
        double change = relaxed(2, rows_ - 1);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        change += relaxed(1, 1) + relaxed(rows_, rows_);
        now_.swap(next_);
        return change;
    }

private:
    double relaxed(int first, int last)
    {
        double change = 0;
        for (int row = first; row <= last; row++)
            for (int k = row * width_ + 1; k < (row + 1) * width_ - 1; k++) {
                next_[k] = 0.25 * (now_[k - 1] + now_[k + 1] + now_[k - width_] + now_[k + width_]);
                change += std::fabs(next_[k] - now_[k]);
            }
        return change;
    }

    int width_, rows_, up_, down_;
    MPI_Comm comm_;
    std::vector<double> now_, next_;
};

double processor_time()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, width = argc > 1 ? std::atoi(argv[1]) : 256, steps = argc > 2 ? std::atoi(argv[2]) : 100;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0, spent = -processor_time(), all = 0;
    long calls = 0, total = 0;
    {
        Heat heat(width, MPI_COMM_WORLD);
        for (int k = 0; k < steps; k++) {
            PRGN_BEGIN("step");
            double change = heat.step();
            PRGN_END;
            calls += 5;
            if (k % 10 == 9) {
                MPI_Allreduce(&change, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                calls++;
            }
        }
    }
    spent += processor_time();
    MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&calls, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("change %.6f calls %ld seconds %.6f\n", sum, total, all);
    MPI_Finalize();
    return 0;
}
