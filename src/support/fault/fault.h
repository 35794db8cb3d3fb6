/*
 * fault.h
 *	  Fault injection for tests: named points of the storage protocol where a
 *	  test can stop, fail or kill a backend; and transfers that it can spoil.
 */
#ifndef SKX_FAULT_H
#define SKX_FAULT_H

#include "support/fault/fault_points.h"

/* The points of fault_points.h, SKX_FAULT_NAME for each. */
typedef enum SkxFaultPoint
{
	SKX_FAULT_NONE = 0,
#define SKX_FAULT_ENUM(symbol, name, wait) SKX_FAULT_##symbol,
	SKX_FAULT_POINTS(SKX_FAULT_ENUM)
#undef SKX_FAULT_ENUM
} SkxFaultPoint;

/* True if skipidx.fault is set in this session and may still act. */
extern bool skx_fault_armed;

/* Marks a point in the code: SKX_FAULT(SKX_FAULT_LIVE_LOGGED). */
#define SKX_FAULT(point) \
	do { \
		if (unlikely(skx_fault_armed)) \
			skx_fault_reached(point); \
	} while (0)

/*
 * Counts how often the point of the setting is reached, and acts as the
 * setting says (fault_point.c).  Action error raises ERRCODE_INTERNAL_ERROR;
 * kill and panic do not return.
 */
extern void skx_fault_reached(SkxFaultPoint point);

/*
 * What one part of a search promises another.  In builds with assertions a
 * test can have it broken, to see the assertion that finds this.
 */
typedef enum SkxFaultContract
{
	SKX_CONTRACT_DOCS_ASCEND,	/* the matches of a batch */
	SKX_CONTRACT_DOCS_ONCE,		/* a batch begins after the last one */
	SKX_CONTRACT_DOCS_RANGE,	/* a batch ends in its range */
	SKX_CONTRACT_MAX_BOUND,		/* of the contributions of a posting list, */
	SKX_CONTRACT_LIST_BOUND,	/* in a range of documents, */
	SKX_CONTRACT_SUB_BOUND,		/* in a sub-block, */
	SKX_CONTRACT_POSTING_BOUND, /* and of one whose norm is not read */
	SKX_CONTRACT_PAIR_BOUND,	/* of what pairs of words add to a score, */
	SKX_CONTRACT_CEILING,		/* and of a score with pairs */
	SKX_CONTRACT_PENDING_BOUND, /* of the score of a pending document */
	SKX_CONTRACT_KEY_BOUND,		/* of the keys of a range of documents */
	SKX_CONTRACT_THRESHOLD		/* it never falls */
} SkxFaultContract;

/*
 * Functions of a library for tests (test/module/) that replace results of
 * transfers.  Each gets the true result and returns the one to use.  It may
 * raise an error or kill the process instead.
 */
typedef struct SkxFaultTransfers
{
	/* a read, and a write: number of bytes, or -errno */
	ssize_t		(*read) (ssize_t result);
	ssize_t		(*write) (ssize_t result);
	/* the growth of a file: 0, or -errno */
	ssize_t		(*file_growth) (ssize_t result);
	/* free pages of a new index before its segments: 0 without a test */
	ssize_t		(*skip_pages) (ssize_t npages);
	/* not a transfer: returns true if the contract is to be broken now */
	bool		(*breaks_contract) (SkxFaultContract contract);
} SkxFaultTransfers;

/* Name of the rendezvous variable of the server that has the functions. */
#define SKX_FAULT_RENDEZVOUS	"skipidx fault"

/* Points to the functions, or to NULL if the library is not loaded. */
extern const SkxFaultTransfers **skx_fault_transfers;

/* Returns the result to use of a read that has returned `result`. */
static inline ssize_t
skx_fault_read(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->read(result) : result;
}

/* Returns the result to use of a write that has returned `result`. */
static inline ssize_t
skx_fault_write(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->write(result) : result;
}

/* Returns the result to use of a growth that has returned `result`. */
static inline ssize_t
skx_fault_grow(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->file_growth(result) : result;
}

/*
 * Returns how many pages a new index leaves free before its segments, where it
 * would leave npages.
 */
static inline ssize_t
skx_fault_skip_pages(ssize_t npages)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->skip_pages(npages) : npages;
}

/*
 * Returns true if a test wants a contract to be broken here: never without
 * assertions.
 */
static inline bool
skx_fault_breaks_contract(SkxFaultContract contract)
{
#ifdef USE_ASSERT_CHECKING
	return unlikely(*skx_fault_transfers != NULL) &&
		(*skx_fault_transfers)->breaks_contract(contract);
#else
	return false;
#endif
}

/*
 * Finds the variable in which a library for tests leaves its SkxFaultTransfers
 * (fault_transfer.c).  Called once, from _PG_init.
 */
extern void skx_fault_transfer_init(void);

#endif							/* SKX_FAULT_H */
