/*
 * fault_points.h
 *	  The one list of named points at which a test can stop a backend.
 *
 * X(NAME, "name", wait): NAME is for SKX_FAULT, the string for the setting.
 * `wait` says whether action wait is possible there: not with LWLocks held,
 * nor with interrupts held off for another reason.  Tests read this file too,
 * one point a line; a point's number is its place in the list, from 1.
 */
#ifndef SKX_FAULT_POINTS_H
#define SKX_FAULT_POINTS_H

#define SKX_FAULT_POINTS(X) \
	/* insert: before anything; a long document written but not linked; \
	 * its record written */ \
	X(INSERT_BEGIN, "insert_begin", true) \
	X(INSERT_CHAIN_WRITTEN, "insert_chain_written", false) \
	X(INSERT_APPENDED, "insert_appended", true) \
	/* a stripe takes an extent: file extended, nothing logged; logged */ \
	X(EXTENT_GROWN, "extent_grown", false) \
	X(EXTENT_TAKEN, "extent_taken", false) \
	/* any change of the root: conflict record logged, nothing written; new \
	 * root pages written, metapage not; metapage too, from which xid on the \
	 * freed pages are safe is not noted */ \
	X(REUSE_LOGGED, "reuse_logged", false) \
	X(ROOT_WRITTEN, "root_written", false) \
	X(ROOT_FLIPPED, "root_flipped", false) \
	/* an operation has reserved its pages */ \
	X(RESERVE_FLIPPED, "reserve_flipped", true) \
	/* a batch of segment pages: logged, not flushed; flushed, not \
	 * written; written, checkpoints still held off */ \
	X(LIVE_LOGGED, "live_logged", false) \
	X(LIVE_FLUSHED, "live_flushed", false) \
	X(LIVE_WRITTEN, "live_written", false) \
	/* a batch of a new index: logged, not written; handed to the kernel, \
	 * and written now or later */ \
	X(NEW_LOGGED, "new_logged", true) \
	X(NEW_SENT, "new_sent", true) \
	/* flush: about to read a stripe; all documents read; segment written, \
	 * publish lock not taken */ \
	X(FLUSH_STRIPE, "flush_stripe", true) \
	X(FLUSH_READ, "flush_read", true) \
	X(FLUSH_BUILT, "flush_built", true) \
	/* merge: documents mapped; segment written, lock not taken */ \
	X(MERGE_MAPPED, "merge_mapped", true) \
	X(HELP_ASKED, "help_asked", true) \
	X(HELP_COME, "help_come", true) \
	X(HELP_WRITTEN, "help_written", true) \
	X(MERGE_BUILT, "merge_built", true) \
	/* publish: late deletes so far noted, lock not taken; held; late deletes \
	 * carried over; root flipped */ \
	X(PUBLISH_NOTED, "publish_noted", true) \
	X(PUBLISH_LOCKED, "publish_locked", true) \
	X(PUBLISH_CARRIED, "publish_carried", true) \
	X(PUBLISH_FLIPPED, "publish_flipped", true) \
	/* what dead operations left taken back */ \
	X(TIDY_DONE, "tidy_done", true) \
	/* VACUUM: one page of delete bits; one page of the pending list; a part \
	 * of a list or segment done, nothing locked */ \
	X(VACUUM_SEGMENT_MARKED, "vacuum_segment_marked", true) \
	X(VACUUM_PENDING_MARKED, "vacuum_pending_marked", true) \
	X(VACUUM_PART_DONE, "vacuum_part_done", true) \
	/* shrinking: a stripe moved; the root says the file is shorter; it is */ \
	X(SHRINK_MOVED, "shrink_moved", true) \
	X(SHRINK_FLIPPED, "shrink_flipped", true) \
	X(SHRINK_DONE, "shrink_done", true) \
	/* CREATE INDEX: a segment written; the head of the file written */ \
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
	/* a page was found in the cache, and nothing read of it yet, without a \
	 * pin */ \
	X(GLANCE_BEGUN, "glance_begun", true) \
	/* a count: before all of the visibility map is asked; matches of a batch \
	 * read, the map not asked; asked, their marks not read again */ \
	X(COUNT_WHOLE, "count_whole", true) \
	X(COUNT_MATCHED, "count_matched", true) \
	X(COUNT_MAPPED, "count_mapped", true) \
	/* a process of a parallel scan is about to take a part, by its view */ \
	X(SHARE_TAKE, "share_take", true) \
	/* a process is about to map what its views are entered in */ \
	X(VIEWS_MAP, "views_map", true)

#endif							/* SKX_FAULT_POINTS_H */
