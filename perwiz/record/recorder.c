/* The MPI recorder of perwiz: one source for Open MPI, MPICH and SMPI, in front of the program by LD_PRELOAD or linked into it. */
#include "recorder.h"

#include "maps.c"

#include "files.c"

#include "names.c" /* generated */

#include "events.c"

#include "count.c"

#include "core.c"

#include "definitions.c"

#include "comms.c"

#include "calls.c"

#include "regions.c"

#include "openmp.c"

#include "pthreads.c"

#include "clocks.c"

#include "profile.c"

#include "process.c"

#include "start.c"

#include "wrappers.c" /* generated */
