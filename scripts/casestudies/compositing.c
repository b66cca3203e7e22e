/* Binary-swap image compositing in small (PerWiz paper, 5.2 and Fig. 6b): log2 P stages, in each all processes are paired, split the part of
   the image they have in two and swap one piece. How long a piece takes to composite depends on how much of it is transparent, so the
   stages are imbalanced, the second one most.

   compositing [balance:K ...] [balance:all]    in stage K, from 1, every process has the mean of the work, as interleaved pieces give */
#include "study.h"

enum { MOST = 64, STAGES = 6, MEAN = 200000 };
static const int SPREAD[STAGES] = {35, 90, 60, 45, 20, 15}; /* per cent of the stage's mean, about */

/* Microseconds a process computes in a stage: the work halves with the part of the image. */
static long work(int stage, int process)
{
    unsigned mixed = ((unsigned)process * 2654435761u + (unsigned)(stage + 1) * 40785u) * 2246822519u;
    long per_mille = (long)(mixed >> 16) % 2001 - 1000;
    long mean = MEAN * 4 / (4 + stage);
    return mean + mean * SPREAD[stage] * per_mille / 100000;
}

static long mean_work(int stage)
{
    long sum = 0;
    for (int k = 0; k < size; k++)
        sum += work(stage, k);
    return sum / size;
}

static int balanced(int argc, char **argv, int stage)
{
    char word[32];
    snprintf(word, sizeof word, "balance:%d", stage + 1);
    return given(argc, argv, word) || given(argc, argv, "balance:all");
}

int main(int argc, char **argv)
{
    static char out[4096], in[4096];
    begin(&argc, &argv, 0);
    for (int stage = 0; stage < STAGES && 1 << stage < size; stage++) {
        int peer = rank ^ 1 << stage;
        long time = balanced(argc, argv, stage) ? mean_work(stage) : work(stage, rank);
        int bytes = (int)(2000 * time / MEAN) >> stage; /* pixels that are not transparent */
        PRGN_BEGIN("stage");
        compute(time / 4); /* split */
        MPI_Sendrecv(out, bytes, MPI_CHAR, peer, stage, in, sizeof in, MPI_CHAR, peer, stage, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(time - time / 4); /* composite */
        PRGN_END;
    }
    finish();
}
