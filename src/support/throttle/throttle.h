/*
 * throttle.h
 *	  Slows down long work, and stops it for other processes.
 */
#ifndef SKX_THROTTLE_H
#define SKX_THROTTLE_H

/*
 * A point in flush, merge or VACUUM at which no page is locked and no transfer
 * is under way (throttle_point.c).  May sleep for VACUUM's cost delay.  Raises
 * the error of a cancel, or of the check that skx_throttle_begin() has set.
 */
extern void skx_throttle_point(void);

/*
 * Counts npages pages that were written past shared buffers, for VACUUM's cost
 * delay and for the rate.  Then it is a skx_throttle_point().  Sleeps while
 * more was written than the rate allows.
 */
extern void skx_throttle_count_pages(int npages);

/* Time between two calls of `check`, in ms. */
#define SKX_THROTTLE_CHECK_MS	100

/*
 * Until skx_throttle_end(), points call `check` every SKX_THROTTLE_CHECK_MS
 * ms, and the process writes no faster than *rate kB/s.  *rate 0, or `rate`
 * NULL: the rate has no bound.  *rate may change meanwhile.
 */
extern void skx_throttle_begin(void (*check) (void *arg), void *arg,
							   const int *rate);

/* Ends what skx_throttle_begin() began. */
extern void skx_throttle_end(void);

#endif							/* SKX_THROTTLE_H */
