/*
 * fault.h
 *	  Named points of the storage protocol where a test can stop, fail or
 *	  kill a backend; and transfers that a test can spoil or undo.
 */
#ifndef SKX_FAULT_FAULT_H
#define SKX_FAULT_FAULT_H

#include "fault/fault_points.h"

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

/* Is skipidx.fault_read set in this session? */
extern bool skx_fault_read_armed;

/*
 * What a read is to have returned: bytes, or -errno.  An error or a kill may
 * come instead.
 */
extern ssize_t skx_fault_read_result(ssize_t result);

static inline ssize_t
skx_fault_read(ssize_t result)
{
	return unlikely(skx_fault_read_armed) ? skx_fault_read_result(result) :
		result;
}

/* The same for writes, and skipidx.fault_write. */
extern bool skx_fault_write_armed;
extern ssize_t skx_fault_write_result(ssize_t result);

static inline ssize_t
skx_fault_write(ssize_t result)
{
	return unlikely(skx_fault_write_armed) ? skx_fault_write_result(result) :
		result;
}

/* And for the growth of files, 0 being well, and skipidx.fault_grow. */
extern bool skx_fault_grow_armed;
extern ssize_t skx_fault_grow_result(ssize_t result);

static inline ssize_t
skx_fault_grow(ssize_t result)
{
	return unlikely(skx_fault_grow_armed) ? skx_fault_grow_result(result) :
		result;
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

/* Define the settings, and see to simulations; called once, from _PG_init. */
extern void skx_fault_read_init(void);
extern void skx_fault_undo_init(void);
extern void skx_fault_init(void);

#endif							/* SKX_FAULT_FAULT_H */
