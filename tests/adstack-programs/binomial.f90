! SPDX-License-Identifier: MIT
! A time loop under binomial checkpointing, in the form of generated code: snapshots are arrays on
! the stack, a look at a snapshot is a repeat level, and the reverse step has a call with its own
! checkpoint. The program compares the gradient with a gradient from all stored states.
      PROGRAM BINOMIAL
      IMPLICIT NONE
      INTEGER, PARAMETER :: N = 20, STEPS = 150
      REAL*8 x(N), xb(N), wanted(N), states(N, STEPS)
      INTEGER*8 ADSTACK_GETCURRENTSTACKSIZE
      INTEGER k, snapshots
      EXTERNAL ADSTACK_GETCURRENTSTACKSIZE

      CALL START(x, xb, N)
      DO k=1,STEPS
        states(:, k) = x
        CALL STEP(x, N)
      END DO
      DO k=STEPS,1,-1
        x = states(:, k)
        CALL STEP_B(x, xb, N)
      END DO
      wanted = xb

      DO snapshots=2,12,5
        CALL START(x, xb, N)
        CALL LOOP_B(x, xb, N, STEPS, snapshots)
        IF (ANY(xb .NE. wanted)) STOP 'the gradient differs'
        IF (ADSTACK_GETCURRENTSTACKSIZE() .NE. 0) STOP 'something is left'
      END DO

      PRINT *, 'done'
      END

      SUBROUTINE START(x, xb, n)
      IMPLICIT NONE
      INTEGER n, i
      REAL*8 x(n), xb(n)
      DO i=1,n
        x(i) = 0.5D0 + 0.01D0*i
        xb(i) = 1.D0
      END DO
      END

      SUBROUTINE FLUX(a, b, f)
      IMPLICIT NONE
      REAL*8 a, b, f
      f = 0.01D0*SIN(b)*a
      END

      SUBROUTINE STEP(x, n)
      IMPLICIT NONE
      INTEGER n, i
      REAL*8 x(n), f
      DO i=1,n-1
        CALL FLUX(x(i), x(i+1), f)
        x(i) = x(i) + f
      END DO
      END

      SUBROUTINE STEP_B(x, xb, n)
      IMPLICIT NONE
      INTEGER n, i
      REAL*8 x(n), xb(n), f, fb
      DO i=1,n-1
        CALL PUSHREAL8(x(i))
        CALL FLUX(x(i), x(i+1), f)
        x(i) = x(i) + f
      END DO
      DO i=n-1,1,-1
        fb = xb(i)
        CALL POPREAL8(x(i))
        xb(i) = xb(i) + 0.01D0*SIN(x(i+1))*fb
        xb(i+1) = xb(i+1) + 0.01D0*COS(x(i+1))*x(i)*fb
      END DO
      END

      SUBROUTINE LOOP_B(x, xb, n, steps, snapshots)
      IMPLICIT NONE
      INTEGER n, steps, snapshots, action, at
      REAL*8 x(n), xb(n)
      INTEGER ADBINOMIAL_NEXT
      EXTERNAL ADBINOMIAL_NEXT
      CALL ADBINOMIAL_INIT(steps, snapshots, 1)
      DO WHILE (ADBINOMIAL_NEXT(action, at) .NE. 0)
        SELECT CASE (action)
        CASE (1)
          CALL PUSHREAL8ARRAY(x, n)
        CASE (2)
          CALL ADSTACK_STARTREPEAT()
          CALL POPREAL8ARRAY(x, n)
          CALL ADSTACK_RESETREPEAT()
          CALL ADSTACK_ENDREPEAT()
        CASE (3)
          CALL POPREAL8ARRAY(x, n)
        CASE (4)
          CALL STEP(x, n)
        CASE DEFAULT
          CALL STEP_B(x, xb, n)
        END SELECT
      END DO
      END
