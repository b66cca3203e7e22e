/* Image registration in small (PerWiz paper, 5.1 and Fig. 6a): 4 x 4 processes, each holds a part of an image.

   Points lie in the image. To compute the gradient at a point takes the pixels around it, so the processes that hold some of them form the
   point's group: each computes its share, and all send theirs to the one that holds the point, which adds them up and needs nobody else
   to go on. Every process takes its points in their order in the image, row by row: those who hold a point wait for others that are not
   there yet.

   registration [RANK:POINT:BEFORE ...]    that process takes POINT just before its point BEFORE; changes are made in the order given */
#include "study.h"

enum { SIDE = 4, RANKS = SIDE * SIDE, PART = 1000, POINTS = 64, REACH = 200, FULL = 15000, SEED = 5 };

typedef struct {
    int x, y, detail, home, share[RANKS]; /* share: microseconds, 0 of those outside the group */
} Point;

static Point points[POINTS];
static int order[POINTS], mine;

static int drawn(void)
{
    static unsigned state = SEED;
    state = (state * 1103515245u + 12345u) % (1u << 31);
    return (int)(state >> 8) % PART;
}

static int by_place(const void *one, const void *other)
{
    const Point *a = one, *b = other;
    return a->y / PART != b->y / PART ? a->y / PART - b->y / PART : a->x != b->x ? a->x - b->x : a->y - b->y;
}

static int overlap(int middle, int part)
{
    int low = middle - REACH > part * PART ? middle - REACH : part * PART;
    int high = middle + REACH < (part + 1) * PART ? middle + REACH : (part + 1) * PART;
    return high > low ? high - low : 0;
}

/* Returns how many processes hold pixels around a point. */
static int shared(Point *p)
{
    int group = 0;
    for (int k = 0; k < RANKS; k++) {
        long area = (long)overlap(p->x, k % SIDE) * overlap(p->y, k / SIDE);
        p->share[k] = area ? 150 + (int)(FULL * p->detail * area / (4L * REACH * REACH)) : 0;
        group += area > 0;
    }
    return group;
}

/* Points with pixels of one process only need no message; they are left out. */
static void place_points(void)
{
    for (Point *p = points; p < points + POINTS; p++)
        do {
            p->x = drawn() * SIDE;
            p->y = drawn() * SIDE;
            p->detail = 1 + drawn() % 4;
            p->home = p->y / PART * SIDE + p->x / PART;
        } while (shared(p) < 2);
    qsort(points, POINTS, sizeof *points, by_place);
    for (int k = 0; k < POINTS; k++)
        if (points[k].share[rank])
            order[mine++] = k;
}

static int position(int point)
{
    int at = 0;
    while (at < mine && order[at] != point)
        at++;
    return at;
}

/* What is changed in the source: where in its order a process takes a point. */
static void reorder(const char *text)
{
    int who, point, before;
    if (sscanf(text, "%d:%d:%d", &who, &point, &before) != 3 || who != rank)
        return;
    int from = position(point), to = position(before);
    if (from == mine || to > from) {
        fprintf(stderr, "registration: %s: no such points, or not in this order\n", text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = point;
}

static void gradient(int number)
{
    Point *p = &points[number];
    double part[3] = {0};
    compute(p->share[rank]);
    if (p->home != rank) {
        MPI_Send(part, 3, MPI_DOUBLE, p->home, number, MPI_COMM_WORLD);
        return;
    }
    for (int k = 0; k < RANKS; k++)
        if (p->share[k] && k != rank)
            MPI_Recv(part, 3, MPI_DOUBLE, k, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, RANKS);
    place_points();
    for (int k = 1; k < argc; k++)
        reorder(argv[k]);
    PRGN_BEGIN("registration");
    for (int k = 0; k < mine; k++) {
        PERWIZ_BEGIN("point");
        gradient(order[k]);
        PERWIZ_END;
    }
    PRGN_END;
    finish();
}
