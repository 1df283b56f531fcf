! SPDX-License-Identifier: MIT
!
! Message passing in Fortran, with mpi_f08: the reverse of programs whose ranks communicate by MPI.
!
!     gfortran -O2 program.f90 $(pkg-config --cflags --libs reel-fortran-mpi)
!
!     error = reel_mpi_attach(MPI_COMM_WORLD)                               once, by all ranks
!
!     if (rank == 0) then                                                   forward sweep
!       error = reel_mpi_send(tape, x, n, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD)
!     else
!       error = reel_mpi_recv(tape, x, n, MPI_DOUBLE_PRECISION, 0, 7, MPI_COMM_WORLD)
!     end if
!
!     if (rank == 0) then                                                   reverse sweep
!       error = reel_mpi_send_reverse(tape, x_bar, n, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD)
!     else
!       error = reel_mpi_recv_reverse(tape, x_bar, n, MPI_DOUBLE_PRECISION, 0, 7, MPI_COMM_WORLD)
!     end if
!     error = reel_mpi_reverse_end(MPI_COMM_WORLD)
!
! reel/mpi.h is the manual: it describes the C functions of the same names. Fortran differs in this:
!
! Arguments. They have the order and the names of MPI's, with a tape before them. Each function
! returns 0 or an error below 0 (reel_error_text), as in C. There is no ierror.
!
! No tape. If the tape is a null pointer, `type(reel_tape), pointer :: none => null()`, the forward
! call notes nothing.
!
! Statuses are optional. A status that is omitted is MPI_STATUS_IGNORE. Pass a status to both calls
! of a pair, or to neither.
!
! Buffers are variables of any type and rank. The datatype decides whether they have an adjoint:
! MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL8, MPI_COMPLEX, MPI_2DOUBLE_PRECISION and types derived
! from them have one, MPI_INTEGER and MPI_LOGICAL have none. A contiguous buffer is not copied. A
! section with gaps, such as u(1, :), is copied to contiguous memory and back by calls that wait;
! `count` elements of `datatype` must fit into that copy. Calls with requests refuse such a section
! (-EINVAL), because the copy would be freed before the transfer ends: use a derived type
! (MPI_Type_vector), which needs no copy.
!
! Requests are variables of type(reel_mpi_request), null as declared. From the start of a request to
! its wait, the program must not copy or move the request, nor free or reallocate the buffer.
! Declare the buffers of requests `asynchronous`, so that the compiler keeps none of their elements
! in a register across a wait. An array of requests is a whole array or a contiguous section. The
! index of reel_mpi_waitany counts from 1, as in MPI's own Fortran.
!
! Call sites. Messages give program and address of a call: `addr2line -e PROGRAM ADDRESS` prints
! file and line.
!
module reel_mpi
  use, intrinsic :: iso_c_binding
  use mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Op, MPI_Status
  use mpi_f08, only: MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  use reel, only: reel_tape
  implicit none
  private

  ! The objective is a number of one rank, or the sum over all ranks.
  enum, bind(C)
    enumerator :: REEL_MPI_ON_ONE_RANK, REEL_MPI_SUM_OF_RANKS
  end enum
  public :: REEL_MPI_ON_ONE_RANK, REEL_MPI_SUM_OF_RANKS

  ! A request, null as declared. It must not be copied between its start and its wait.
  type, bind(C), public :: reel_mpi_request
    integer(c_int64_t), private :: storage(REEL_MPI_REQUEST_WORDS) = 0
  end type

  public :: reel_mpi_attach, reel_mpi_detach, reel_mpi_reverse_end, reel_mpi_seed
  public :: reel_mpi_send, reel_mpi_ssend, reel_mpi_bsend, reel_mpi_rsend, reel_mpi_send_reverse
  public :: reel_mpi_recv, reel_mpi_recv_reverse
  public :: reel_mpi_sendrecv, reel_mpi_sendrecv_reverse
  public :: reel_mpi_sendrecv_replace, reel_mpi_sendrecv_replace_reverse
  public :: reel_mpi_send_init, reel_mpi_ssend_init, reel_mpi_recv_init
  public :: reel_mpi_isend, reel_mpi_issend, reel_mpi_ibsend, reel_mpi_irsend, reel_mpi_irecv
  public :: reel_mpi_start, reel_mpi_start_reverse
  public :: reel_mpi_wait, reel_mpi_wait_reverse, reel_mpi_waitall, reel_mpi_waitall_reverse
  public :: reel_mpi_waitany, reel_mpi_waitany_reverse
  public :: reel_mpi_bcast, reel_mpi_bcast_reverse, reel_mpi_barrier, reel_mpi_barrier_reverse
  public :: reel_mpi_gather, reel_mpi_gather_reverse, reel_mpi_gatherv, reel_mpi_gatherv_reverse
  public :: reel_mpi_scatter, reel_mpi_scatter_reverse
  public :: reel_mpi_scatterv, reel_mpi_scatterv_reverse
  public :: reel_mpi_allgather, reel_mpi_allgather_reverse
  public :: reel_mpi_allgatherv, reel_mpi_allgatherv_reverse
  public :: reel_mpi_alltoall, reel_mpi_alltoall_reverse
  public :: reel_mpi_alltoallv, reel_mpi_alltoallv_reverse
  public :: reel_mpi_reduce, reel_mpi_reduce_reverse
  public :: reel_mpi_allreduce, reel_mpi_allreduce_reverse
  public :: reel_mpi_reduce_scatter_block, reel_mpi_reduce_scatter_block_reverse
  public :: reel_mpi_scan, reel_mpi_scan_reverse, reel_mpi_exscan, reel_mpi_exscan_reverse

  ! ---- Communicators and the objective ----

  interface
    integer(c_int) function reel_mpi_attach(comm, flags) bind(C, name="reel_fortran_mpi_attach")
      import
      type(MPI_Comm), intent(in) :: comm
      integer(c_int), intent(in), optional :: flags
    end function

    integer(c_int) function reel_mpi_detach(comm) bind(C, name="reel_fortran_mpi_detach")
      import
      type(MPI_Comm), intent(in) :: comm
    end function

    integer(c_int) function reel_mpi_reverse_end(comm) bind(C, name="reel_fortran_mpi_reverse_end")
      import
      type(MPI_Comm), intent(in) :: comm
    end function

    ! root: the rank that has J; 0 with REEL_MPI_SUM_OF_RANKS.
    integer(c_int) function reel_mpi_seed(J_bar, objective, root, comm) &
      bind(C, name="reel_fortran_mpi_seed")
      import
      real(c_double), intent(inout) :: J_bar
      integer(c_int), value :: objective, root
      type(MPI_Comm), intent(in) :: comm
    end function
  end interface

  ! ---- Messages ----

  ! A macro declares a function; functions with the same arguments share a macro. DIRECTION is `in`
  ! if the call only reads the buffer, and `inout` if it receives, or adds to an adjoint.

#define SEND(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, buf, count, datatype, dest, tag, comm) bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: buf(..); \
      integer(c_int), value :: count, dest, tag; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

  interface
    SEND(reel_mpi_send, "reel_fortran_mpi_send", in)
    SEND(reel_mpi_ssend, "reel_fortran_mpi_ssend", in)
    SEND(reel_mpi_bsend, "reel_fortran_mpi_bsend", in)
    SEND(reel_mpi_rsend, "reel_fortran_mpi_rsend", in)
    SEND(reel_mpi_send_reverse, "reel_fortran_mpi_send_reverse", inout)
  end interface

#define RECEIVE(NAME, LABEL) \
    integer(c_int) function NAME(tape, buf, count, datatype, source, tag, comm, status) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(inout) :: buf(..); \
      integer(c_int), value :: count, source, tag; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
      type(MPI_Status), intent(inout), optional :: status; \
    end function

  interface
    RECEIVE(reel_mpi_recv, "reel_fortran_mpi_recv")
    RECEIVE(reel_mpi_recv_reverse, "reel_fortran_mpi_recv_reverse")
  end interface

#define EXCHANGE(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcount, sendtype, dest, sendtag, \
      recvbuf, recvcount, recvtype, source, recvtag, comm, status) bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: sendcount, dest, sendtag, recvcount, source, recvtag; \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
      type(MPI_Status), intent(inout), optional :: status; \
    end function

  interface
    EXCHANGE(reel_mpi_sendrecv, "reel_fortran_mpi_sendrecv", in)
    EXCHANGE(reel_mpi_sendrecv_reverse, "reel_fortran_mpi_sendrecv_reverse", inout)
  end interface

#define REPLACE(NAME, LABEL) \
    integer(c_int) function NAME(tape, buf, count, datatype, dest, sendtag, source, recvtag, \
      comm, status) bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(inout) :: buf(..); \
      integer(c_int), value :: count, dest, sendtag, source, recvtag; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
      type(MPI_Status), intent(inout), optional :: status; \
    end function

  interface
    REPLACE(reel_mpi_sendrecv_replace, "reel_fortran_mpi_sendrecv_replace")
    REPLACE(reel_mpi_sendrecv_replace_reverse, "reel_fortran_mpi_sendrecv_replace_reverse")
  end interface

  ! ---- Requests ----

  ! The C functions return nothing. These return -EINVAL if the buffer has gaps.
#define DESCRIBE(NAME, LABEL, PEER) \
    integer(c_int) function NAME(buf, count, datatype, PEER, tag, comm, request) \
      bind(C, name=LABEL); \
      import; \
      type(*), intent(inout), asynchronous :: buf(..); \
      integer(c_int), value :: count, PEER, tag; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
      type(reel_mpi_request), intent(inout) :: request; \
    end function

  interface
    DESCRIBE(reel_mpi_send_init, "reel_fortran_mpi_send_init", dest)
    DESCRIBE(reel_mpi_ssend_init, "reel_fortran_mpi_ssend_init", dest)
    DESCRIBE(reel_mpi_recv_init, "reel_fortran_mpi_recv_init", source)
  end interface

#define BEGIN(NAME, LABEL, PEER, DIRECTION) \
    integer(c_int) function NAME(tape, buf, count, datatype, PEER, tag, comm, request) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION), asynchronous :: buf(..); \
      integer(c_int), value :: count, PEER, tag; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
      type(reel_mpi_request), intent(inout) :: request; \
    end function

  interface
    BEGIN(reel_mpi_isend, "reel_fortran_mpi_isend", dest, in)
    BEGIN(reel_mpi_issend, "reel_fortran_mpi_issend", dest, in)
    BEGIN(reel_mpi_ibsend, "reel_fortran_mpi_ibsend", dest, in)
    BEGIN(reel_mpi_irsend, "reel_fortran_mpi_irsend", dest, in)
    BEGIN(reel_mpi_irecv, "reel_fortran_mpi_irecv", source, inout)
  end interface

#define START(NAME, LABEL) \
    integer(c_int) function NAME(tape, request) bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(reel_mpi_request), intent(inout) :: request; \
    end function

#define WAIT(NAME, LABEL) \
    integer(c_int) function NAME(tape, request, status) bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(reel_mpi_request), intent(inout) :: request; \
      type(MPI_Status), intent(inout), optional :: status; \
    end function

#define WAITALL(NAME, LABEL) \
    integer(c_int) function NAME(tape, count, array_of_requests, array_of_statuses) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      integer(c_int), value :: count; \
      type(reel_mpi_request), intent(inout) :: array_of_requests(:); \
      type(MPI_Status), intent(inout), optional :: array_of_statuses(*); \
    end function

#define WAITANY(NAME, LABEL) \
    integer(c_int) function NAME(tape, count, array_of_requests, index, status) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      integer(c_int), value :: count; \
      type(reel_mpi_request), intent(inout) :: array_of_requests(:); \
      integer(c_int), intent(inout) :: index; \
      type(MPI_Status), intent(inout), optional :: status; \
    end function

  interface
    START(reel_mpi_start, "reel_fortran_mpi_start")
    START(reel_mpi_start_reverse, "reel_fortran_mpi_start_reverse")
    WAIT(reel_mpi_wait, "reel_fortran_mpi_wait")
    WAIT(reel_mpi_wait_reverse, "reel_fortran_mpi_wait_reverse")
    WAITALL(reel_mpi_waitall, "reel_fortran_mpi_waitall")
    WAITALL(reel_mpi_waitall_reverse, "reel_fortran_mpi_waitall_reverse")
    WAITANY(reel_mpi_waitany, "reel_fortran_mpi_waitany")
    WAITANY(reel_mpi_waitany_reverse, "reel_fortran_mpi_waitany_reverse")
  end interface

  ! ---- Collective calls ----

#define BROADCAST(NAME, LABEL) \
    integer(c_int) function NAME(tape, buf, count, datatype, root, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(inout) :: buf(..); \
      integer(c_int), value :: count, root; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define MEET(NAME, LABEL) \
    integer(c_int) function NAME(tape, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define MOVE_ROOTED(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcount, sendtype, recvbuf, recvcount, \
      recvtype, root, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: sendcount, recvcount, root; \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define MOVE(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcount, sendtype, recvbuf, recvcount, \
      recvtype, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: sendcount, recvcount; \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define GATHERV(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcount, sendtype, recvbuf, recvcounts, \
      displs, recvtype, root, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: sendcount, root; \
      integer(c_int), intent(in) :: recvcounts(*), displs(*); \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define SCATTERV(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcounts, displs, sendtype, recvbuf, \
      recvcount, recvtype, root, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), intent(in) :: sendcounts(*), displs(*); \
      integer(c_int), value :: recvcount, root; \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define ALLGATHERV(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcount, sendtype, recvbuf, recvcounts, \
      displs, recvtype, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: sendcount; \
      integer(c_int), intent(in) :: recvcounts(*), displs(*); \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define ALLTOALLV(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, sendcounts, sdispls, sendtype, recvbuf, \
      recvcounts, rdispls, recvtype, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), intent(in) :: sendcounts(*), sdispls(*), recvcounts(*), rdispls(*); \
      type(MPI_Datatype), intent(in) :: sendtype, recvtype; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

  interface
    BROADCAST(reel_mpi_bcast, "reel_fortran_mpi_bcast")
    BROADCAST(reel_mpi_bcast_reverse, "reel_fortran_mpi_bcast_reverse")
    MEET(reel_mpi_barrier, "reel_fortran_mpi_barrier")
    MEET(reel_mpi_barrier_reverse, "reel_fortran_mpi_barrier_reverse")
    MOVE_ROOTED(reel_mpi_gather, "reel_fortran_mpi_gather", in)
    MOVE_ROOTED(reel_mpi_gather_reverse, "reel_fortran_mpi_gather_reverse", inout)
    MOVE_ROOTED(reel_mpi_scatter, "reel_fortran_mpi_scatter", in)
    MOVE_ROOTED(reel_mpi_scatter_reverse, "reel_fortran_mpi_scatter_reverse", inout)
    MOVE(reel_mpi_allgather, "reel_fortran_mpi_allgather", in)
    MOVE(reel_mpi_allgather_reverse, "reel_fortran_mpi_allgather_reverse", inout)
    MOVE(reel_mpi_alltoall, "reel_fortran_mpi_alltoall", in)
    MOVE(reel_mpi_alltoall_reverse, "reel_fortran_mpi_alltoall_reverse", inout)
    GATHERV(reel_mpi_gatherv, "reel_fortran_mpi_gatherv", in)
    GATHERV(reel_mpi_gatherv_reverse, "reel_fortran_mpi_gatherv_reverse", inout)
    SCATTERV(reel_mpi_scatterv, "reel_fortran_mpi_scatterv", in)
    SCATTERV(reel_mpi_scatterv_reverse, "reel_fortran_mpi_scatterv_reverse", inout)
    ALLGATHERV(reel_mpi_allgatherv, "reel_fortran_mpi_allgatherv", in)
    ALLGATHERV(reel_mpi_allgatherv_reverse, "reel_fortran_mpi_allgatherv_reverse", inout)
    ALLTOALLV(reel_mpi_alltoallv, "reel_fortran_mpi_alltoallv", in)
    ALLTOALLV(reel_mpi_alltoallv_reverse, "reel_fortran_mpi_alltoallv_reverse", inout)
  end interface

  ! ---- Reductions ----

#define REDUCE_ROOTED(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, recvbuf, count, datatype, op, root, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: count, root; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Op), intent(in) :: op; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

#define REDUCE(NAME, LABEL, DIRECTION) \
    integer(c_int) function NAME(tape, sendbuf, recvbuf, count, datatype, op, comm) \
      bind(C, name=LABEL); \
      import; \
      type(reel_tape), intent(inout), optional :: tape; \
      type(*), intent(DIRECTION) :: sendbuf(..); \
      type(*), intent(inout) :: recvbuf(..); \
      integer(c_int), value :: count; \
      type(MPI_Datatype), intent(in) :: datatype; \
      type(MPI_Op), intent(in) :: op; \
      type(MPI_Comm), intent(in) :: comm; \
    end function

  interface
    REDUCE_ROOTED(reel_mpi_reduce, "reel_fortran_mpi_reduce", in)
    REDUCE_ROOTED(reel_mpi_reduce_reverse, "reel_fortran_mpi_reduce_reverse", inout)
    REDUCE(reel_mpi_allreduce, "reel_fortran_mpi_allreduce", in)
    REDUCE(reel_mpi_allreduce_reverse, "reel_fortran_mpi_allreduce_reverse", inout)
    REDUCE(reel_mpi_reduce_scatter_block, "reel_fortran_mpi_reduce_scatter_block", in)
    REDUCE(reel_mpi_reduce_scatter_block_reverse,
      "reel_fortran_mpi_reduce_scatter_block_reverse", inout)
    REDUCE(reel_mpi_scan, "reel_fortran_mpi_scan", in)
    REDUCE(reel_mpi_scan_reverse, "reel_fortran_mpi_scan_reverse", inout)
    REDUCE(reel_mpi_exscan, "reel_fortran_mpi_exscan", in)
    REDUCE(reel_mpi_exscan_reverse, "reel_fortran_mpi_exscan_reverse", inout)
  end interface

  ! ---- Variables of mpi_f08 whose addresses have a meaning, such as MPI_IN_PLACE ----

  interface
    subroutine note_sentinels(places, in_place, bottom, status, statuses) &
      bind(C, name="reel_fortran_mpi_note_sentinels")
      import
      type(c_ptr), intent(inout) :: places(4)
      type(*), intent(in) :: in_place, bottom, status, statuses(*)
    end subroutine
  end interface

contains

  ! Gives C the addresses of these variables. C compares arguments with them.
  subroutine find_sentinels(places) bind(C, name="reel_fortran_mpi_find_sentinels")
    type(c_ptr), intent(inout) :: places(4)

    call note_sentinels(places, MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE)
  end subroutine
end module
