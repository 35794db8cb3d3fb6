# timing.mk: procedures that time searches inside a server, for bench-rank and
# bench-execution.  Loaded by path, never installed.
# SKIPIDX is the directory of the tree.

MODULES = timing
PG_CPPFLAGS = -I$(SKIPIDX)/src
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
