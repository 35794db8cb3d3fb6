/*
 * autoprewarm.h
 *	  Keeps what is in the block cache over a restart of the server.
 */
#ifndef SKX_AUTOPREWARM_H
#define SKX_AUTOPREWARM_H

/*
 * Called when the library is loaded.  If the server preloads it, registers the
 * process that keeps the cache.
 */
extern void skx_autoprewarm_init(void);

#endif							/* SKX_AUTOPREWARM_H */
