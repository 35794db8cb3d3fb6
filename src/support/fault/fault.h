/*
 * fault.h
 *	  Named points of the storage protocol where a test can stop, fail or
 *	  kill a backend; and transfers that a test can spoil or undo.
 */
#ifndef SKX_FAULT_H
#define SKX_FAULT_H

#include "support/fault/fault_points.h"

typedef enum SkxFaultPoint
{
	SKX_FAULT_NONE = 0,
#define SKX_FAULT_ENUM(symbol, name, wait) SKX_FAULT_##symbol,
	SKX_FAULT_POINTS(SKX_FAULT_ENUM)
#undef SKX_FAULT_ENUM
} SkxFaultPoint;

/* Is skipidx.fault set in this session, and has it not acted yet? */
extern bool skx_fault_armed;

/* Marks a point: SKX_FAULT(SKX_FAULT_LIVE_LOGGED). */
#define SKX_FAULT(point) \
	do { \
		if (unlikely(skx_fault_armed)) \
			skx_fault_reached(point); \
	} while (0)

/*
 * Counts, and acts as the setting says.  Action error raises
 * ERRCODE_INTERNAL_ERROR; kill and panic do not return.
 */
extern void skx_fault_reached(SkxFaultPoint point);

/*
 * What a transfer is to have returned: bytes, or -errno; an error or a kill may
 * come instead.  grow is for the growth of a file, 0 being well; skip for the
 * pages that a new index leaves free before its segments, 0.  The functions are
 * those of a library for tests (test/module/), if it is loaded.
 */
typedef struct SkxFaultTransfers
{
	ssize_t		(*read) (ssize_t result);
	ssize_t		(*write) (ssize_t result);
	ssize_t		(*grow) (ssize_t result);
	ssize_t		(*skip) (ssize_t npages);
} SkxFaultTransfers;

#define SKX_FAULT_RENDEZVOUS	"skipidx fault"

extern const SkxFaultTransfers **skx_fault_transfers;

static inline ssize_t
skx_fault_read(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->read(result) : result;
}

static inline ssize_t
skx_fault_write(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->write(result) : result;
}

static inline ssize_t
skx_fault_grow(ssize_t result)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->grow(result) : result;
}

static inline ssize_t
skx_fault_skip(ssize_t npages)
{
	return unlikely(*skx_fault_transfers != NULL) ?
		(*skx_fault_transfers)->skip(npages) : npages;
}

/*
 * Before and after a write that no function of the C library makes, so that a
 * simulated power loss can undo it.  The number of the first is for the second;
 * 0 when there is no such simulation.
 */
extern bool skx_fault_undo_armed;
extern uint64 skx_fault_undo_before(int fd, off_t offset, size_t bytes);
extern void skx_fault_undo_after(uint64 number);

static inline uint64
skx_fault_write_begins(int fd, off_t offset, size_t bytes)
{
	return unlikely(skx_fault_undo_armed) ?
		skx_fault_undo_before(fd, offset, bytes) : 0;
}

static inline void
skx_fault_write_ended(uint64 number)
{
	if (unlikely(number != 0))
		skx_fault_undo_after(number);
}

/* Look for simulations; called once, from _PG_init. */
extern void skx_fault_transfer_init(void);
extern void skx_fault_undo_init(void);

#endif							/* SKX_FAULT_H */
