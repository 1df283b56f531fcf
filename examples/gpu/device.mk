# SPDX-License-Identifier: MIT
# Kernels, which run on the emulator in tests, and the programs for a GPU.
emulator_headers = tests/helpers/emulator.h gpu/tape/arena-layout.h
device_examples = \
	%D%/examples.cu \
	%D%/device.h \
	%D%/example.h \
	%D%/axpy.h \
	%D%/checks.h \
	%D%/matmul.h \
	%D%/montecarlo.h \
	%D%/nbody.h \
	%D%/reduction.h \
	%D%/shallow.h \
	%D%/stencil.h
# The tsunami's gradient, on a device and on the CPU.
device_tsunami = \
	%D%/tsunami.cu \
	%D%/device.h \
	examples/tsunami/gradient/gpu.cu
device_tests = \
	tests/gpu/t-device-emulator \
	tests/gpu/t-device-tape \
	tests/gpu/t-device-faults \
	tests/gpu/t-device-arena \
	tests/gpu/t-device-clock $(emulated) \
	tests/gpu/t-device-drain $(emulated) \
	tests/gpu/t-device-lanes \
	tests/gpu/t-device-random $(emulated) \
	tests/gpu/t-device-add
device_test_objects = $(device_tests:=.o)
dist_check_SCRIPTS += tests/gpu/t-device-resources.sh $(one_thread)
EXTRA_DIST += \
	%D%/RESOURCES.md %D%/resources.sh \
	bench/device.cu \
	tests/helpers/emulator.cpp \
	$(emulator_headers) \
	$(device_examples) \
	$(device_tsunami) \
	tests/helpers/device-support.h tests/helpers/fake-support.h \
	$(device_tests:=.cpp)

# Automake would compile these objects as C, so they have their own rules.
emulator_compile = $(EMULATOR_CXX) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -I$(srcdir)/%D% \
	-I$(srcdir)/tests/helpers $(CPPFLAGS) -std=c++14 -pthread $(EMULATOR_CXXFLAGS) $(CFLAGS) -c -o $@

if EMULATOR
check_PROGRAMS += $(device_tests) tests/gpu/t-device-examples $(emulated)
if TEST_TSUNAMI
check_PROGRAMS += tests/gpu/t-device-tsunami $(once_more)
endif
device_test_libraries = tests/helpers/emulator.o libreel-arena.la libreel-fake-device.la \
	libreel-cuda-core.la libreel-test-stores.la libreel-core.la libreel-tap.la -lstdc++ -lm

tests/helpers/emulator.o: tests/helpers/emulator.cpp $(emulator_headers)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(emulator_compile) $(srcdir)/tests/helpers/emulator.cpp
tests/gpu/t-device-emulator.o: tests/gpu/t-device-emulator.cpp
tests/gpu/t-device-tape.o: tests/gpu/t-device-tape.cpp
tests/gpu/t-device-faults.o: tests/gpu/t-device-faults.cpp
tests/gpu/t-device-arena.o: tests/gpu/t-device-arena.cpp
tests/gpu/t-device-clock.o: tests/gpu/t-device-clock.cpp
tests/gpu/t-device-drain.o: tests/gpu/t-device-drain.cpp
tests/gpu/t-device-lanes.o: tests/gpu/t-device-lanes.cpp
tests/gpu/t-device-random.o: tests/gpu/t-device-random.cpp
tests/gpu/t-device-add.o: tests/gpu/t-device-add.cpp
$(device_test_objects): tests/helpers/device-support.h tests/helpers/fake-support.h tests/helpers/late-batches.h tests/helpers/mutants.h $(device_examples) $(emulator_headers) $(reelinclude_HEADERS)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(emulator_compile) $(srcdir)/$(@:.o=.cpp)
tests/gpu/t-device-examples.o: $(device_examples) $(emulator_headers) $(reelinclude_HEADERS)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(emulator_compile) -x c++ $(srcdir)/%D%/examples.cu
tests/gpu/t-device-tsunami.o: $(device_tsunami) $(libtsunami_la_SOURCES) $(emulator_headers) \
		$(reelinclude_HEADERS)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(emulator_compile) $(OPENMP_CFLAGS) -ffp-contract=off \
		-I$(srcdir)/examples/tsunami -I$(srcdir)/examples -x c++ $(srcdir)/%D%/tsunami.cu

tests_gpu_t_device_emulator_SOURCES =
tests_gpu_t_device_emulator_LDADD = tests/gpu/t-device-emulator.o $(device_test_libraries)
tests_gpu_t_device_tape_SOURCES =
tests_gpu_t_device_tape_LDADD = tests/gpu/t-device-tape.o $(device_test_libraries)
tests_gpu_t_device_faults_SOURCES =
tests_gpu_t_device_faults_LDADD = tests/gpu/t-device-faults.o $(device_test_libraries)
tests_gpu_t_device_arena_SOURCES =
tests_gpu_t_device_arena_LDADD = tests/gpu/t-device-arena.o $(device_test_libraries)
tests_gpu_t_device_clock_SOURCES =
tests_gpu_t_device_clock_LDADD = tests/gpu/t-device-clock.o $(device_test_libraries)
tests_gpu_t_device_drain_SOURCES = tests/helpers/late-batches.c tests/helpers/late-batches.h
tests_gpu_t_device_drain_LDADD = tests/gpu/t-device-drain.o $(device_test_libraries)
tests_gpu_t_device_lanes_SOURCES =
tests_gpu_t_device_lanes_LDADD = tests/gpu/t-device-lanes.o $(device_test_libraries)
tests_gpu_t_device_random_SOURCES = tests/helpers/late-batches.c tests/helpers/late-batches.h
tests_gpu_t_device_random_LDADD = tests/gpu/t-device-random.o $(device_test_libraries)
tests_gpu_t_device_add_SOURCES =
tests_gpu_t_device_add_LDADD = tests/gpu/t-device-add.o $(device_test_libraries)
tests_gpu_t_device_examples_SOURCES =
tests_gpu_t_device_examples_LDADD = tests/gpu/t-device-examples.o $(device_test_libraries)
tests_gpu_t_device_tsunami_SOURCES =
tests_gpu_t_device_tsunami_LDADD = tests/gpu/t-device-tsunami.o libtsunami.la libreel-omp-core.la \
	$(device_test_libraries)
tests_gpu_t_device_tsunami_LDFLAGS = $(OPENMP_CFLAGS)
endif

# Programs for a GPU. `make cuda` builds them; `make all` does if configure has --with-cuda.
cuda_programs = %D%/gpu-examples %D%/gpu-bench %D%/gpu-tsunami
.PHONY: cuda
if WITH_CUDA
cuda_compile = $(NVCC) -std=c++14 $(NVCCFLAGS) $(CUDA_GENCODE) -I$(top_srcdir)/include
# The batches of an arena are parcels of a pool, so programs with an arena also link the library.
cuda_archives = libreel-arena.la libreel-cuda-core.la libreel-core.la
cuda_libraries = $(cuda_archives:%.la=.libs/%.a) $(LZ4_LIBS) $(LIBS)

# -fmad=false: the kernels have to compute the numbers of the CPU, which rounds a product and a sum separately.
tsunami_compile = $(cuda_compile) -fmad=false -I$(srcdir)/%D% -I$(srcdir)/examples/tsunami \
	-I$(srcdir)/examples

cuda: $(cuda_programs) $(tsunami_gpu)
%D%/gpu-examples: $(device_examples) $(reelinclude_HEADERS) $(cuda_archives)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(cuda_compile) -o $@ $(srcdir)/%D%/examples.cu $(cuda_libraries)
%D%/gpu-bench: bench/device.cu $(device_examples) $(reelinclude_HEADERS) $(cuda_archives)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(cuda_compile) -o $@ $(srcdir)/bench/device.cu $(cuda_libraries)
%D%/gpu-tsunami: $(device_tsunami) $(libtsunami_la_SOURCES) $(reelinclude_HEADERS) \
		libtsunami.la libreel-omp-core.la $(cuda_archives)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(tsunami_compile) $(OPENMP_CFLAGS:%=-Xcompiler %) -o $@ \
		$(srcdir)/%D%/tsunami.cu .libs/libtsunami.a .libs/libreel-omp-core.a \
		$(cuda_libraries) -lm
$(tsunami_gpu): $(tsunami_gpu_sources) %D%/device.h $(reelinclude_HEADERS)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(tsunami_compile) -c -o $@ $(srcdir)/examples/tsunami/gradient/gpu.cu
else
cuda:
	@echo 'there is no nvcc that builds programs: install CUDA, or configure with NVCC=...' >&2; exit 1
endif
if BUILD_CUDA
built_by_all = $(cuda_programs)
endif
CLEANFILES += $(cuda_programs) $(tsunami_gpu)
CLEANFILES += tests/helpers/emulator.o $(device_test_objects) tests/gpu/t-device-examples.o tests/gpu/t-device-tsunami.o
