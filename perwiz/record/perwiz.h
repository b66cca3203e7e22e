/* Regions for perwiz. Include it after mpi.h.

   PRGN_BEGIN("name") ... PRGN_END          a parallel region: work that all processes share
   PERWIZ_BEGIN("name") ... PERWIZ_END      any other region

   Regions nest; the last one begun is ended first. Nothing needs to be linked: without the recorder MPI_Pcontrol does nothing.
   With -DPERWIZ_OFF the macros are empty. */
#ifndef PERWIZ_H
#define PERWIZ_H

#define PERWIZ_BEGIN_LEVEL 0x50570001
#define PERWIZ_PARALLEL_LEVEL 0x50570002
#define PERWIZ_END_LEVEL 0x50570003

#ifdef PERWIZ_OFF
#define PRGN_BEGIN(name) ((void)0)
#define PRGN_END ((void)0)
#define PERWIZ_BEGIN(name) ((void)0)
#define PERWIZ_END ((void)0)
#else
#define PRGN_BEGIN(name) ((void)MPI_Pcontrol(PERWIZ_PARALLEL_LEVEL, (const char *)(name)))
#define PRGN_END ((void)MPI_Pcontrol(PERWIZ_END_LEVEL))
#define PERWIZ_BEGIN(name) ((void)MPI_Pcontrol(PERWIZ_BEGIN_LEVEL, (const char *)(name)))
#define PERWIZ_END ((void)MPI_Pcontrol(PERWIZ_END_LEVEL))
#endif

#endif
