/*
 * fault_points.h
 *	  The one list of named points at which a test can stop a backend.
 *
 * X(NAME, "name", wait): NAME is the argument of SKX_FAULT without its prefix,
 * and the string is the name in the setting.  `wait` is true if action wait is
 * possible at the point: no LWLock is held and interrupts are not held off.
 * Tests read this file, too, so each point has a line of its own.  The number
 * of a point is its index in the list, from 1.  A comment describes the points
 * below it, one after the other, by the state in which they are reached.
 */
#ifndef SKX_FAULT_POINTS_H
#define SKX_FAULT_POINTS_H

#define SKX_FAULT_POINTS(X) \
	/* insert: nothing is done; a long document is written but not linked; \
	 * the document's record is written */ \
	X(INSERT_BEGIN, "insert_begin", true) \
	X(INSERT_CHAIN_WRITTEN, "insert_chain_written", false) \
	X(INSERT_APPENDED, "insert_appended", true) \
	/* a stripe takes an extent: the file has grown, nothing is logged; all \
	 * is logged */ \
	X(EXTENT_GROWN, "extent_grown", false) \
	X(EXTENT_TAKEN, "extent_taken", false) \
	/* any change of the root: the conflict record is logged, nothing is \
	 * written; the new root pages are written, the metapage is not; the \
	 * metapage is written, but has no freed_xid yet */ \
	X(REUSE_LOGGED, "reuse_logged", false) \
	X(ROOT_WRITTEN, "root_written", false) \
	X(ROOT_FLIPPED, "root_flipped", false) \
	/* an operation has reserved its pages */ \
	X(RESERVE_FLIPPED, "reserve_flipped", true) \
	/* a batch of segment pages: WAL is logged, not flushed; WAL is flushed, \
	 * pages are not written; pages are written, checkpoints are still held \
	 * off */ \
	X(LIVE_LOGGED, "live_logged", false) \
	X(LIVE_FLUSHED, "live_flushed", false) \
	X(LIVE_WRITTEN, "live_written", false) \
	/* a batch of pages of a new index: they are logged, not written; they \
	 * are written, shared buffers may have older ones */ \
	X(NEW_LOGGED, "new_logged", true) \
	X(NEW_WRITTEN, "new_written", true) \
	/* flush: it is about to read a stripe; all documents are read; the \
	 * segment is written, the lock on the metapage is not taken */ \
	X(FLUSH_STRIPE, "flush_stripe", true) \
	X(FLUSH_READ, "flush_read", true) \
	X(FLUSH_BUILT, "flush_built", true) \
	/* merge: documents are mapped; helpers are requested; a helper has come; \
	 * a helper has written its pages; the segment is written, the lock on \
	 * the metapage is not taken */ \
	X(MERGE_MAPPED, "merge_mapped", true) \
	X(HELP_ASKED, "help_asked", true) \
	X(HELP_COME, "help_come", true) \
	X(HELP_WRITTEN, "help_written", true) \
	X(MERGE_BUILT, "merge_built", true) \
	/* publish: late deletes so far are noted, the lock is not taken; the \
	 * lock is held; late deletes are carried over; the root is flipped */ \
	X(PUBLISH_NOTED, "publish_noted", true) \
	X(PUBLISH_LOCKED, "publish_locked", true) \
	X(PUBLISH_CARRIED, "publish_carried", true) \
	X(PUBLISH_FLIPPED, "publish_flipped", true) \
	/* what operations have left reserved is taken back */ \
	X(TIDY_DONE, "tidy_done", true) \
	/* VACUUM: a page of deleted bits is changed; a page of a pending list \
	 * is changed; a part of a list or segment is done, nothing is locked */ \
	X(VACUUM_SEGMENT_MARKED, "vacuum_segment_marked", true) \
	X(VACUUM_PENDING_MARKED, "vacuum_pending_marked", true) \
	X(VACUUM_PART_DONE, "vacuum_part_done", true) \
	/* shrinking: a stripe has moved; the root says that the file is shorter; \
	 * the file is shorter */ \
	X(SHRINK_MOVED, "shrink_moved", true) \
	X(SHRINK_FLIPPED, "shrink_flipped", true) \
	X(SHRINK_DONE, "shrink_done", true) \
	/* CREATE INDEX: a segment is written; the head of the file is written */ \
	X(BUILD_SEGMENT_WRITTEN, "build_segment_written", true) \
	X(BUILD_HEAD_WRITTEN, "build_head_written", true) \
	/* CREATE INDEX with workers: the leader has started them; one has come \
	 * but not joined; a member's share has ended; documents are in order; a \
	 * member has taken a task; has encoded it; is through with tasks */ \
	X(TEAM_LAUNCHED, "team_launched", true) \
	X(TEAM_COME, "team_come", true) \
	X(TEAM_SHARED, "team_shared", true) \
	X(TEAM_ORDERED, "team_ordered", true) \
	X(TEAM_TASK, "team_task", true) \
	X(TEAM_TASK_ENCODED, "team_task_encoded", true) \
	X(TEAM_ENCODED, "team_encoded", true) \
	/* a page was found in the cache and has no pin; nothing of it is read */ \
	X(GLANCE_BEGUN, "glance_begun", true) \
	/* a count: the whole visibility map is about to be read; matches of a \
	 * batch are read, the map is not; the map is read, the deleted bits of \
	 * the matches are not read again */ \
	X(COUNT_WHOLE, "count_whole", true) \
	X(COUNT_MATCHED, "count_matched", true) \
	X(COUNT_MAPPED, "count_mapped", true) \
	/* a process of a parallel scan has its view, and is about to take a part \
	 * of the work */ \
	X(SHARE_TAKE, "share_take", true) \
	/* a process is about to map the shared memory of open views */ \
	X(VIEWS_MAP, "views_map", true)

#endif							/* SKX_FAULT_POINTS_H */
