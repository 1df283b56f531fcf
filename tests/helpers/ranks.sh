# Tests that start ranks source this after tap.sh. It skips them if there is no mpirun.
[ -n "${MPIRUN%% *}" ] || skip_all 'there is no mpirun'

# Ranks that wait give the processor to other ranks. Messages are copied through shared memory, because containers may
# forbid a process to read the memory of another one.
OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_btl_vader_single_copy_mechanism
