/*
 * query.h
 *	  Answers tsquery over segments and pending documents, exactly as the
 *	  server's own @@ does.
 */
#ifndef SKX_QUERY_QUERY_H
#define SKX_QUERY_QUERY_H

#include "segment/segment.h"
#include "tsearch/ts_type.h"

/* One or more tsqueries, all of which a document must match. */
typedef struct SkxQuery SkxQuery;

/* The answer of one segment, in batches. */
typedef struct SkxQueryScan SkxQueryScan;

/* The window of set operations, in documents. */
#define SKX_QUERY_BATCH		4096

/* Documents of an answer's batch at most. */
#define SKX_QUERY_DOCS		(2 * SKX_QUERY_BATCH)

/*
 * query_compile.c
 *
 * Compiles in the current memory context; the tsqueries must stay.  Without
 * any query every document matches, also one with a NULL tsvector.
 */
extern SkxQuery *skx_query_compile(TSQuery *queries, int nqueries);

/* Can no document match, whatever the index holds? */
extern bool skx_query_is_empty(const SkxQuery *query);

/*
 * query_scan.c
 *
 * next fills `docs` with the next live matches, ascending; 0 at the end.  The
 * batches grow, unless `all` are wanted: then they are large at once.
 */
extern SkxQueryScan *skx_query_scan_open(SkxSegment *seg,
										 const SkxQuery *query, bool all);
extern int	skx_query_scan_next(SkxQueryScan *scan, uint32 *docs);

/* Before any next: scans of one query on several segments begin together. */
extern void skx_query_scan_plan(SkxQueryScan **scans, int n);
extern void skx_query_scan_close(SkxQueryScan *scan);

/* Does a pending document match?  value NULL: its tsvector is NULL. */
extern bool skx_query_matches(const SkxQuery *query, TSVector value);

#endif							/* SKX_QUERY_QUERY_H */
