! SPDX-License-Identifier: MIT
! Regions, loops, orders, reductions, tasks and shared adjoints, by teams of 1 to 4 threads.
module model
  use, intrinsic :: iso_c_binding
  use reel
  use reel_omp
  implicit none
  integer, parameter :: n = 1000, steps = 3
  real(c_double) :: a(0:n + 1) = 0
contains
  ! One thread: y = x, then `steps` times y(i) = sin(y(i)) * a(mod(i, 7) + 1). Returns sum(y).
  real(c_double) function primal(x)
    real(c_double), intent(in) :: x(n)
    real(c_double) :: y(n)
    integer :: i, k

    y = x
    do k = 1, steps
      do i = 1, n
        y(i) = sin(y(i)) * a(mod(i, 7) + 1)
      end do
    end do
    primal = sum(y)
  end function

  subroutine reverse_task(context, task) bind(C)
    type(c_ptr), value :: context
    type(reel_lane), value :: task
    type(reel_tape), pointer :: tape
    real(c_double), pointer :: total
    real(c_double) :: x

    call c_f_pointer(context, total)
    tape => reel_lane_tape(task)
    call reel_pop(tape, x)
    total = total + x * real(reel_task_label(task), c_double)
  end subroutine
end module

program regions
  use, intrinsic :: iso_c_binding
  use checks
  use model
  !$ use omp_lib
  implicit none
  type(reel_lane) :: root
  integer :: team

  call random_number(a)
  if (reel_lane_open(root) /= 0) error stop 'no root'
  do team = 1, 4
    call sweep(team, 5 - team)
    call waves(team, 5 - team)
  end do
  call turns
  call tasks
  call refused
  call ok(reel_lane_error(root) == 0, 'no error')
  call ok(reel_lane_is_empty(root), 'nothing is left on the root')
  call reel_lane_close(root)
contains
  integer function number_of_thread()
    number_of_thread = 0
    !$ number_of_thread = omp_get_thread_num()
  end function

  integer function size_of_team()
    size_of_team = 1
    !$ size_of_team = omp_get_num_threads()
  end function

  ! The gradient of primal() by three lanes, with `threads` threads forward and `threads_back` back.
  subroutine sweep(threads, threads_back)
    integer, intent(in) :: threads, threads_back
    real(c_double) :: x(n), y(n), x_bar(n), result, partial(3), partial_bar(3), step
    real(c_double), target :: a_bar(0:n + 1)
    type(reel_region) :: region
    type(reel_worker) :: worker
    type(reel_loop) :: loop
    type(reel_tape), pointer :: tape
    type(reel_adjoint) :: adjoint
    integer :: k, lane, error
    integer(c_int64_t) :: i

    x = [(0.5d0 + 0.001d0 * i, i = 1, n)]
    y = x
    region = reel_region_begin(root, 3)
    !$omp parallel num_threads(threads) private(worker, loop, tape, k, i, lane)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    do k = 1, steps
      do while (reel_worker_next(worker))
        tape => reel_lane_tape(worker%lane)
        if (k == 1) partial(reel_lane_index(worker%lane) + 1) = 0
        loop = reel_loop_begin(worker%lane, reel_dynamic(10), 1, n)
        do while (reel_loop_next(loop))
          call reel_push_array(tape, y(loop%first:loop%last))
          do i = loop%first, loop%last
            y(i) = sin(y(i)) * a(mod(int(i), 7) + 1)
          end do
        end do
      end do
      !$omp barrier
      call reel_worker_next_phase(worker)
    end do
    do while (reel_worker_next(worker))
      lane = reel_lane_index(worker%lane) + 1
      loop = reel_loop_begin(worker%lane, reel_static(), 1, n)
      do while (reel_loop_next(loop))
        partial(lane) = sum(y(loop%first:loop%last))
      end do
    end do
    call reel_worker_end(worker)
    !$omp end parallel
    call ok(reel_region_end(region) == 0, 'a region is recorded')
    result = reel_reduce(root, REEL_REDUCE_SUM, partial)
    call ok(abs(result - primal(x)) < 1d-10 * result, 'the primal result')

    call reel_reduce_reverse(root, REEL_REDUCE_SUM, 1d0, partial_bar)
    a_bar = 0
    x_bar = 0
    error = reel_adjoint_open(adjoint, a_bar)
    error = reel_adjoint_begin(adjoint, 3)
    region = reel_region_reverse(root)
    !$omp parallel num_threads(threads_back) private(worker, loop, tape, k, i, lane, error)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    do while (reel_worker_next(worker))
      lane = reel_lane_index(worker%lane) + 1
      loop = reel_loop_reverse(worker%lane, reel_static(), 1, n)
      do while (reel_loop_next(loop))
        x_bar(loop%first:loop%last) = x_bar(loop%first:loop%last) + partial_bar(lane)
      end do
    end do
    do k = steps, 1, -1
      !$omp barrier
      call reel_worker_next_phase(worker)
      do while (reel_worker_next(worker))
        tape => reel_lane_tape(worker%lane)
        loop = reel_loop_reverse(worker%lane, reel_dynamic(10), 1, n)
        do while (reel_loop_next(loop))
          call reverse_chunks(tape, adjoint, reel_lane_index(worker%lane), loop, x_bar)
        end do
      end do
    end do
    !$omp barrier
    error = reel_adjoint_reduce(adjoint, number_of_thread(), size_of_team())
    !$omp end parallel
    call ok(reel_adjoint_end(adjoint) == 0, 'the adjoints are summed up')
    call ok(reel_region_end(region) == 0, 'the region is reversed')
    error = reel_adjoint_close(adjoint)
    call ok(reel_lane_bytes(root) == 0, 'all was popped')

    step = 1d-6
    y = x
    y(17) = x(17) + step
    call ok(abs((primal(y) - primal(x)) / step - x_bar(17)) < 1d-5, 'the derivative by x')
    result = primal(x)
    a(3) = a(3) + step
    call ok(abs((primal(x) - result) / step - a_bar(3)) < 1d-3 * abs(a_bar(3)), &
      'the derivative by a')
    a(3) = a(3) - step
  end subroutine

  ! Reverses an interval. It may have several chunks, each pushed as an array of at most 10 values.
  subroutine reverse_chunks(tape, adjoint, lane, loop, x_bar)
    type(reel_tape), intent(inout) :: tape
    type(reel_adjoint), intent(in) :: adjoint
    integer(c_int), intent(in) :: lane
    type(reel_loop), intent(in) :: loop
    real(c_double), intent(inout) :: x_bar(n)
    real(c_double) :: y(10)
    integer(c_int64_t) :: first, last, i
    integer :: j

    last = loop%last
    do while (last >= loop%first)
      first = last - mod(last - loop%first, 10_c_int64_t)
      call reel_pop_array(tape, y(1:last - first + 1))
      do i = last, first, -1
        j = mod(int(i), 7) + 1
        call reel_adjoint_add(adjoint, lane, j + 1, sin(y(i - first + 1)) * x_bar(i))
        x_bar(i) = cos(y(i - first + 1)) * a(j) * x_bar(i)
      end do
      last = first - 1
    end do
  end subroutine

  ! Lanes read values that their neighbours wrote in the last step. States lie on the root's tape.
  subroutine waves(threads, threads_back)
    integer, intent(in) :: threads, threads_back
    real(c_double), pointer, contiguous :: u(:), next(:), first(:)
    real(c_float), pointer, contiguous :: narrow(:)
    real(c_double) :: bar(n, 0:1), row(n), moved(n)
    type(reel_region) :: region
    type(reel_worker) :: worker
    type(reel_loop) :: loop
    integer :: k, i

    region = reel_region_begin(root, 3)
    call reel_push_span(reel_lane_tape(root), first, n)
    first = [(1 + 0.001d0 * i, i = 1, n)]
    row = first
    !$omp parallel num_threads(threads) private(worker, loop, u, next, narrow, k, i)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    u => first
    do k = 1, steps
      call reel_worker_push_span(worker, next, n)
      do while (reel_worker_next(worker))
        loop = reel_loop_begin(worker%lane, reel_static(), 1, n)
        do while (reel_loop_next(loop))
          do i = int(loop%first), int(loop%last)
            next(i) = u(i) * (1 - 0.1d0 * (u(i) - u(max(i - 1, 1))))
          end do
        end do
      end do
      u => next
    end do
    call reel_worker_push_span(worker, narrow, 3_c_int64_t)
    do while (reel_worker_next(worker))
      narrow(reel_lane_index(worker%lane) + 1) = real(reel_lane_index(worker%lane), c_float)
    end do
    !$omp end parallel
    call ok(reel_region_end(region) == 0, 'states that all lanes write are recorded')

    bar = 0
    bar(n / 2, mod(steps, 2)) = 1
    region = reel_region_reverse(root)
    call reel_pop_span(reel_lane_tape(root), narrow, 3)
    call ok(all(narrow == [0., 1., 2.]), 'a span of 4-byte reals comes back')
    !$omp parallel num_threads(threads_back) private(worker, loop, u, k, i)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    call reel_worker_pop_span(worker, u, n)
    do k = steps, 1, -1
      call reel_worker_pop_span(worker, u, n)
      do while (reel_worker_next(worker))
        loop = reel_loop_reverse(worker%lane, reel_static(), 1, n)
        do while (reel_loop_next(loop))
          do i = int(loop%first), int(loop%last)
            bar(i, mod(k + 1, 2)) = bar(i, mod(k, 2)) * (1 - 0.1d0 * (2 * u(i) - u(max(i - 1, 1))))
            if (i < n) bar(i, mod(k + 1, 2)) = bar(i, mod(k + 1, 2)) + 0.1d0 * u(i + 1) * bar(i + 1, mod(k, 2))
          end do
        end do
      end do
    end do
    !$omp end parallel
    call ok(reel_region_end(region) == 0, 'and reversed')
    call ok(reel_lane_is_empty(root), 'nothing is left of them')
    do i = n / 2 - steps, n / 2
      moved = row
      moved(i) = moved(i) + 1d-6
      call ok(abs((height(moved) - height(row)) / 1d-6 - bar(i, 0)) < 1d-6, 'the derivative by a state')
    end do
  end subroutine

  ! One thread runs the steps of waves(). Returns the value in the middle after the last step.
  real(c_double) function height(row)
    real(c_double), intent(in) :: row(n)
    real(c_double) :: u(n)
    integer :: k, i

    u = row
    do k = 1, steps
      u = [(u(i) * (1 - 0.1d0 * (u(i) - u(max(i - 1, 1)))), i = 1, n)]
    end do
    height = u(n / 2)
  end function

  ! Turns in a critical section are reversed in the opposite order.
  subroutine turns
    integer, parameter :: each = 50
    type(reel_ordered) :: order
    type(reel_region) :: region
    type(reel_worker) :: worker
    integer :: who(4 * each), came, back, i, wrong

    came = 0
    wrong = 0
    region = reel_region_begin(root, 4)
    !$omp parallel num_threads(4) private(worker, i)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    do while (reel_worker_next(worker))
      do i = 1, each
        !$omp critical
        call reel_ordered_note(worker%lane, order)
        came = came + 1
        who(came) = reel_lane_index(worker%lane)
        !$omp end critical
      end do
    end do
    !$omp end parallel
    call ok(reel_region_end(region) == 0, 'turns are noted')
    back = came
    region = reel_region_reverse(root)
    !$omp parallel num_threads(reel_region_threads(region, 1)) private(worker, i)
    worker = reel_worker_begin(region, number_of_thread(), size_of_team())
    do while (reel_worker_next(worker))
      do i = 1, each
        call reel_ordered_await(worker%lane, order)
        if (who(back) /= reel_lane_index(worker%lane)) wrong = wrong + 1
        back = back - 1
        call reel_ordered_done(worker%lane, order)
      end do
    end do
    !$omp end parallel
    call ok(reel_region_end(region) == 0, 'and reversed')
    call ok(back == 0 .and. wrong == 0, 'in the opposite order')
  end subroutine

  subroutine tasks
    integer, parameter :: many = 20
    real(c_double), target :: total
    type(reel_dependence) :: dependence(1)
    type(reel_lane) :: task
    type(reel_tape), pointer :: tape
    integer(c_int64_t) :: label

    total = 0
    dependence(1) = reel_dependence(c_loc(total), REEL_TASK_IN)
    do label = 1, many
      task = reel_task_begin(root, label, dependence)
      tape => reel_lane_tape(task)
      call reel_push(tape, 2d0)
    end do
    call reel_task_wait(root)
    call ok(reel_tasks_reverse(root, c_funloc(reverse_task), c_loc(total), 2) == 0, &
      'tasks are reversed')
    call ok(nint(total) == many * (many + 1), 'each of them once, one at a time')
  end subroutine

  ! An adjoint object keeps the address of its array. A copy of a section would lose the sums.
  subroutine refused
    real(c_double), target :: x_bar(9)
    type(reel_adjoint) :: adjoint
    integer :: error

    x_bar = 0
    error = reel_adjoint_open(adjoint, x_bar(::2))
    call ok(error == -22, 'a section with gaps is refused: '//reel_error_text(error))
    call ok(reel_adjoint_open(adjoint, x_bar(5:5:2)) == 0, 'one element is not')
    error = reel_adjoint_begin(adjoint, 1)
    call reel_adjoint_add(adjoint, 0, 1, 7d0)
    call ok(reel_adjoint_end(adjoint) == 0 .and. x_bar(5) == 7, 'and gets its sum')
    error = reel_adjoint_close(adjoint)
  end subroutine
end program
