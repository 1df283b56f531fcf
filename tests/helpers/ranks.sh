# For tests that start ranks, sourced after tap.sh. They are skipped if there is no mpirun.
[ -n "${MPIRUN%% *}" ] || skip_all 'there is no mpirun'

# Ranks that wait leave the processor to others, and need no leave to read their memory.
OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_btl_vader_single_copy_mechanism
