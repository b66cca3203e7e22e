! Module mpi_f08, in small. Prints "tally RANK ROUTINE CALLS BYTES_SENT BYTES_RECEIVED" as workloads.c does.
program fortran08
  use mpi_f08
  implicit none
  integer, parameter :: n = 4
  integer :: rank, size, left, right, in(n), out(n), all(64)
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: half
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  out = rank
  call MPI_Irecv(in, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(out, n, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Irecv(in, n, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(1))
  call MPI_Send(out, 2, MPI_INTEGER, right, 2, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), status)
  call MPI_Sendrecv(out, 1, MPI_INTEGER, right, 3, in, n, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Iprobe(left, 99, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
  call MPI_Allgather(out, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  call MPI_Barrier(half)
  call MPI_Comm_free(half)
  call MPI_Finalize()
  call tally('MPI_Init', 1, 0, 0)
  call tally('MPI_Irecv', 2, 0, 0)
  call tally('MPI_Isend', 1, 4 * n, 0)
  call tally('MPI_Waitall', 1, 0, 4 * n)
  call tally('MPI_Send', 1, 8, 0)
  call tally('MPI_Wait', 1, 0, 8)
  call tally('MPI_Sendrecv', 1, 4, 4)
  call tally('MPI_Iprobe', 1, 0, 0)
  call tally('MPI_Allgather', 2, 8, 8 * size)
  call tally('MPI_Comm_split', 1, 0, 0)
  call tally('MPI_Barrier', 1, 0, 0)
  call tally('MPI_Comm_free', 1, 0, 0)
  call tally('MPI_Finalize', 1, 0, 0)

contains

  subroutine tally(name, calls, sent, got)
    character(len=*), intent(in) :: name
    integer, intent(in) :: calls, sent, got
    write (*, '(A,I0,1X,A,3(1X,I0))') 'tally ', rank, name, calls, sent, got
  end subroutine
end program
