! How Fortran programs use MPI, in small. Prints "tally RANK ROUTINE CALLS BYTES_SENT BYTES_RECEIVED" as workloads.c does.
program fortran_workload
  use mpi
  implicit none
  integer, parameter :: most = 40, n = 10
  character(len=24) :: names(most)
  integer :: counts(3, most), used = 0
  integer :: rank, size, left, right, error, k, found, newcomm, dims(2), cart
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), indices(2)
  integer :: in(n), out(n), all(1000), sizes(100), places(100)
  logical :: flag, periods(2)

  counts = 0
  call tally('MPI_Init', 0, 0)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  out = rank
  call MPI_Pcontrol(2)
  do k = 1, 3
    call tally('MPI_Irecv', 0, 0)
    call MPI_Irecv(in, n, MPI_INTEGER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, requests(1), error)
    call tally('MPI_Isend', 4 * n, 0)
    call MPI_Isend(out, n, MPI_INTEGER, right, k, MPI_COMM_WORLD, requests(2), error)
    call tally('MPI_Waitall', 0, 4 * n)
    if (k == 1) call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    if (k > 1) call MPI_Waitall(2, requests, statuses, error)
  end do
  call MPI_Pcontrol(-2)
  call tally('MPI_Irecv', 0, 0)
  call MPI_Irecv(in, n, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1), error)
  call tally('MPI_Send', 4 * n, 0)
  call MPI_Send(out, n, MPI_INTEGER, right, 7, MPI_COMM_WORLD, error)
  call tally('MPI_Waitany', 0, 4 * n)
  call MPI_Waitany(1, requests, found, MPI_STATUS_IGNORE, error)
  call tally('MPI_Irecv', 0, 0)
  call MPI_Irecv(in, n, MPI_INTEGER, left, 8, MPI_COMM_WORLD, requests(1), error)
  call tally('MPI_Ssend_init', 0, 0)
  call MPI_Ssend_init(out, 2, MPI_INTEGER, right, 8, MPI_COMM_WORLD, requests(2), error)
  call tally('MPI_Start', 8, 0)
  call MPI_Start(requests(2), error)
  call tally('MPI_Waitsome', 0, 0)
  call MPI_Waitsome(2, requests, found, indices, MPI_STATUSES_IGNORE, error)
  call more('MPI_Waitsome', received(found, indices))
  do while (found < 2)
    call tally('MPI_Waitsome', 0, 0)
    call MPI_Waitsome(2, requests, k, indices, statuses, error)
    call more('MPI_Waitsome', received(k, indices))
    found = found + k
  end do
  call tally('MPI_Request_free', 0, 0)
  call MPI_Request_free(requests(2), error)
  call tally('MPI_Sendrecv', 4, 4)
  call MPI_Sendrecv(out, 1, MPI_INTEGER, right, 9, in, 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  if (rank == 0) then
    do k = 1, size - 1
      call tally('MPI_Probe', 0, 0)
      call MPI_Probe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, status, error)
      call tally('MPI_Recv', 0, 4 * status(MPI_SOURCE))
      call MPI_Recv(all, 1000, MPI_INTEGER, status(MPI_SOURCE), 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end do
  else
    call tally('MPI_Send', 4 * rank, 0)
    call MPI_Send(all, rank, MPI_INTEGER, 0, 11, MPI_COMM_WORLD, error)
  end if
  do k = 1, size
    sizes(k) = k
    places(k) = k * (k - 1) / 2
  end do
  call tally('MPI_Allgatherv', 4 * (rank + 1), 2 * size * (size + 1))
  call MPI_Allgatherv(out, rank + 1, MPI_INTEGER, all, sizes, places, MPI_INTEGER, MPI_COMM_WORLD, error)
  call tally('MPI_Allgatherv', 4 * (rank + 1), 2 * size * (size + 1))
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, all, sizes, places, MPI_INTEGER, MPI_COMM_WORLD, error)
  call tally('MPI_Allreduce', 8, 8)
  call MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call tally('MPI_Ibcast', merge(8, 0, rank == 0), merge(0, 8, rank == 0))
  call MPI_Ibcast(out, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1), error)
  call tally('MPI_Wait', 0, 0)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
  call tally('MPI_Comm_split', 0, 0)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, newcomm, error)
  call tally('MPI_Bcast', merge(4, 0, rank < 2), merge(0, 4, rank < 2))
  call MPI_Bcast(out, 1, MPI_INTEGER, 0, newcomm, error)
  call tally('MPI_Comm_free', 0, 0)
  call MPI_Comm_free(newcomm, error)
  dims = (/ size, 1 /)
  periods = .true.
  call tally('MPI_Cart_create', 0, 0)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, error)
  flag = .false.
  call tally('MPI_Iprobe', 0, 0)
  call MPI_Iprobe(left, 99, cart, flag, MPI_STATUS_IGNORE, error)
  call tally('MPI_Barrier', 0, 0)
  call MPI_Barrier(cart, error)
  call tally('MPI_Finalize', 0, 0)
  call MPI_Finalize(error)
  do k = 1, used
    write (*, '(A,I0,1X,A,3(1X,I0))') 'tally ', rank, trim(names(k)), counts(:, k)
  end do

contains

  ! The receive is the first of two requests, and brings two numbers.
  integer function received(count, which)
    integer, intent(in) :: count, which(:)
    received = merge(8, 0, any(which(1:count) == 1))
  end function

  subroutine more(name, bytes)
    character(len=*), intent(in) :: name
    integer, intent(in) :: bytes
    call add(name, 0, 0, bytes)
  end subroutine

  subroutine tally(name, sent, got)
    character(len=*), intent(in) :: name
    integer, intent(in) :: sent, got
    call add(name, 1, sent, got)
  end subroutine

  subroutine add(name, calls, sent, got)
    character(len=*), intent(in) :: name
    integer, intent(in) :: calls, sent, got
    integer :: at
    do at = 1, used
      if (names(at) == name) exit
    end do
    if (at > used) then
      used = at
      names(at) = name
    end if
    counts(:, at) = counts(:, at) + (/ calls, sent, got /)
  end subroutine
end program
