/*
 * throttle.h
 *	  How fast long work goes on, and when it has to stop for others.
 */
#ifndef SKX_THROTTLE_H
#define SKX_THROTTLE_H

/*
 * throttle_point.c : a point in flush, merge or VACUUM at which no page is locked
 * and no transfer is under way
 *
 * May sleep, as VACUUM's cost delay or the rate says; raises the error of a
 * cancel, or of the check that the process has set.
 */
extern void skx_throttle_point(void);

/* So many pages were written past shared buffers; then as above. */
extern void skx_throttle_wrote(int npages);

/*
 * What a process does at points from now on, until end: calls `check` every
 * SKX_PACE_CHECK ms, and writes no faster than *rate kB/s (0: no bound), which
 * may change.
 */
#define SKX_PACE_CHECK	100

extern void skx_throttle_begin(void (*check) (void *arg), void *arg,
							   const int *rate);
extern void skx_throttle_end(void);

#endif							/* SKX_THROTTLE_H */
