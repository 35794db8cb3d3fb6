# skipidx: PGXS build.
#
#   make                    build skipidx.so (PG_CONFIG chooses the server), at
#                           the top of the tree, from where sources are found
#   make install            as root, into that server's directories
#   make WITH_LIBURING=no   the same for machines without liburing
#   make installcheck       regress, isolation and TAP tests, as non-root,
#                           against the running server of PGHOST and PGPORT
#   make test               all tests, with all of their set-up (see README.md)
#   make demo               a tour on real text, with all of its set-up
#   make test-bare          the demo in a Debian that has nothing yet
#   make test-frameworks    the snippets of doc/ for Django, SQLAlchemy, Rails
#   make test-versions      the tests on other servers: 16 to 19, assertions; and
#                           make analyze
#   make test-cassert       all tests that need a server, on one with assertions
#   make test-memory        tests and generated calls on a server whose memory
#                           sanitizers watch
#   make test-upgrade       pg_upgrade from this server version to a newer one
#   make dist               what is released, as .zip and .tar.gz in dist/
#   make deb                Debian packages of it in dist/deb/, with their set-up
#   make rpm                RPM packages in dist/rpm/, see packaging/
#   make test-packages      packages built, installed and removed, each in a
#                           fresh root
#   make test-faults        crashes, replicas, concurrency and every method of
#                           reading, at length
#   make test-limits        the differential tests with small limits
#   make test-compilers     other compilers and processors: clang, musl, ARM
#   make test-places        a server in a strict container
#   make nightly            all of these, as long as it takes; goes on where it was
#                           ended
#   make soak               load, kills and losses of power by every method
#   make tidy unit fuzz     the parts that need no server
#   make assertions         compiles for a server with assertions, makes nothing
#   make analyze            a static analyser on all sources, some 2 minutes of a
#                           processor (test/analysis/)
#   make bench              all measurements, and a page of them; goes on where it
#                           was interrupted
#   make bench-boolean bench-build bench-count bench-directions bench-execution
#        bench-facets bench-filter bench-highlight bench-insert bench-io
#        bench-lookup bench-machines bench-merge bench-order bench-parallel
#        bench-plans bench-policies bench-quality bench-rank bench-rescore
#        bench-restart bench-scale bench-score bench-scroll bench-statement
#        bench-storage bench-typos bench-words
#                           measurements, see bench/README.md

EXTENSION = skipidx
MODULE_big = skipidx
PGFILEDESC = "skipidx - full-text index access method on block skip lists"

# One wildcard a folder, in the order of src/LAYERS.
SKX_FOLDERS := $(shell sed '/^\#/d' src/LAYERS)
SKX_SOURCES := $(foreach f,$(SKX_FOLDERS),$(sort $(wildcard src/$(f)/*.c))) \
	$(sort $(wildcard src/skipidx*.c))
SKX_HEADERS := $(wildcard src/*/*.h src/*/*/*.h)
OBJS := $(SKX_SOURCES:.c=.o)

DATA := $(sort $(wildcard sql/skipidx--*.sql))

# The control file has the release, of which the library tells.
SKX_RELEASE_NAME := $(shell sed -n "s/^default_version = '\(.*\)'$$/\1/p" skipidx.control)

REGRESS := $(filter-out skipidx--%,$(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql))))
ISOLATION := $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=$(srcdir)/test
ifneq ($(wildcard test/t/*.pl),)
TAP_TESTS = 1
PROVE_TESTS ?= test/t/*.pl
endif

# Sums of floating-point terms must not depend on the compiler's choice of
# fused instructions; the -Wno-* are those that core is built with.
PG_CPPFLAGS = -I$(srcdir)/src -DSKX_RELEASE_NAME='"$(SKX_RELEASE_NAME)"'
PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -ffp-contract=off -MMD -MP $(SKX_CFLAGS)
SHLIB_LINK += $(SKX_LIBS)

# A session that loads the library looks up what is bound then, in the server
# and all of its libraries first: functions of its own are bound when it is
# linked.  The server asks for all others at once (RTLD_NOW), so -z lazy would
# change nothing.  PORTNAME is known when the flag is used.
SHLIB_LINK += $(if $(filter linux,$(PORTNAME)),-Xlinker -Bsymbolic)

# io_uring: without it, reads are made with preadv
WITH_LIBURING ?= yes
ifeq ($(WITH_LIBURING),yes)
PG_CPPFLAGS += -DSKX_WITH_LIBURING
SHLIB_LINK += -luring
endif

EXTRA_CLEAN = skipidx_next.so results regression.diffs regression.out output_iso tmp_check log \
	test/results test/output_iso test/module/*.o test/module/*.so \
	$(foreach d,src src/* src/*/*,$(wildcard $(d)/*.bc $(d)/*.o $(d)/*.d))

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

# The targets that bring their own set-up must work where no server
# development package is installed yet.
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
# The compiler notes which headers an object is made of; bitcode is of any.
$(OBJS): Makefile
$(OBJS:.o=.bc): $(SKX_HEADERS) Makefile
-include $(OBJS:.o=.d)
src/sql/functions/functions_version.o src/sql/functions/functions_version.bc: skipidx.control
else
.PHONY: all install installcheck clean
all install installcheck:
	@echo "no PGXS found by '$(PG_CONFIG) --pgxs';" \
		"run test/setup/packages.sh or set PG_CONFIG" >&2; exit 1
clean:
	rm -rf $(EXTRA_CLEAN)
endif

# Does the tree compile for a server with assertions, whose macros check more?
SKX_ASSERTED := $(SKX_SOURCES:.c=.asserted)
.PHONY: assertions $(SKX_ASSERTED)
assertions: $(SKX_ASSERTED)
	@echo "assertions: $(words $^) checks ok"
$(SKX_ASSERTED): %.asserted: %.c
	@$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(CPPFLAGS) -DUSE_ASSERT_CHECKING=1 -Werror -fsyntax-only $<

# Does each header name what it needs?
SKX_ALONE := $(SKX_HEADERS:.h=.alone)
.PHONY: headers $(SKX_ALONE)
headers: $(SKX_ALONE)
	@echo "headers: $(words $^) checks ok"
$(SKX_ALONE): %.alone: %.h
	@printf '#include "postgres.h"\n#include "%s"\n' $(<:src/%=%) | \
		$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(CPPFLAGS) -Werror -fsyntax-only -x c -

# What does a static analyser find in each source?  The flags it is told last are
# those that it finds most with.
ANALYZE_CC ?= gcc-12
SKX_ANALYZED := $(SKX_SOURCES:.c=.analyzed) test/analysis/faults.analyzed
.PHONY: analyzed $(SKX_ANALYZED)
analyzed: $(SKX_ANALYZED)
$(SKX_ANALYZED): %.analyzed: %.c
	@echo 'analyzed $<'
	@$(ANALYZE_CC) $(filter-out -MMD -MP,$(CFLAGS)) $(CPPFLAGS) -include $(srcdir)/test/analysis/memory.h \
		-O2 -fanalyzer -Wnull-dereference -Wno-analyzer-malloc-leak $(ANALYZE_FLAGS) -S -o /dev/null $<

# The library as a later release may be, for tests: its number, and its defaults.
SKX_NEXT := src/sql/am/am_defaults.next.o src/sql/functions/functions_version.next.o
%.next.o: %.c $(SKX_HEADERS) Makefile
	$(CC) $(filter-out -MMD -MP,$(CFLAGS)) $(CPPFLAGS) -USKX_RELEASE_NAME -DSKX_RELEASE_NAME='"99.0"' -DSKX_NEXT_DEFAULTS -c -o $@ $<
skipidx_next.so: $(OBJS) $(SKX_NEXT)
	$(CC) $(CFLAGS) $(filter-out $(SKX_NEXT:.next.o=.o),$^) $(LDFLAGS) $(LDFLAGS_SL) -shared -o $@ $(SHLIB_LINK)

# A library that TAP tests load; it is not installed.
.PHONY: test-module
installcheck: test-module
test-module:
	@$(MAKE) -s -C test/module with_llvm=no PG_CONFIG='$(PG_CONFIG)' COPT='$(COPT)'

# One a folder of bench/targets
BENCHES := $(patsubst bench/targets/%/target.conf,bench-%,$(wildcard bench/targets/*/target.conf))

.PHONY: tidy unit fuzz analyze demo dist deb rpm test test-bare test-cassert test-frameworks \
	test-memory test-packages test-upgrade test-versions test-faults test-limits \
	test-compilers test-places nightly soak bench $(BENCHES)

tidy:
	@sh test/tidy/tidy.sh

unit:
	$(MAKE) -C test/unit

fuzz:
	$(MAKE) -C test/fuzz

analyze:
	@bash test/analysis/analyze.sh

demo:
	@bash test/demo/demo.sh

dist:
	@bash packaging/dist.sh

deb:
	@DEB_VERSIONS='$(DEB_VERSIONS)' MAKEVARS='$(MAKEVARS)' bash packaging/deb.sh

rpm:
	@bash packaging/rpm.sh

test:
	@bash test/setup/run_tests.sh

test-bare:
	@bash test/setup/test_bare.sh

test-frameworks:
	@bash test/setup/test_frameworks.sh

test-versions:
	@bash test/setup/test_versions.sh

test-cassert:
	@VERSIONS=cassert SUITES='$(or $(SUITES),regress isolation *)' \
		bash test/setup/test_versions.sh

test-memory:
	@bash test/setup/test_memory.sh

test-packages:
	@bash test/setup/test_packages.sh

test-upgrade:
	@bash test/setup/test_upgrade.sh

test-faults:
	@bash test/setup/test_faults.sh

test-limits:
	@bash test/setup/test_limits.sh

test-compilers:
	@bash test/setup/test_compilers.sh

test-places:
	@bash test/setup/test_places.sh

nightly:
	@bash test/setup/nightly.sh

soak:
	@bash test/setup/run_soak.sh

bench:
	@bash test/setup/packages.sh build bench && python3 -B bench/all.py

$(BENCHES): bench-%:
	@bash bench/run.sh $*
