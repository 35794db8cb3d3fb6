/*
 * am_options.c
 *	  Storage parameters of an index.
 *
 * A size is written as in the server's own settings: with a unit, or as a
 * number of kB.  Integer parameters of the server have no units, so sizes are
 * declared as strings.  SkxOptions has them as integers all the same.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/reloptions.h"
#include "format/disk/disk_page.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "support/compat/compat.h"
#include "utils/guc.h"
#include "write/maint/maint_policy.h"
#include "write/writer/writer_build.h"

#define SKX_PENDING_LIMIT_MIN	64	/* kB */

/*
 * Bounds of max_merged_segment, in kB.  Every search looks into each segment,
 * and each flush writes the list of them.  With a lower minimum, an index of 1
 * GB would have hundreds.  No segment can be larger than the maximum.
 */
#define SKX_MERGED_SEGMENT_MIN	(8 * 1024)
#define SKX_MERGED_SEGMENT_MAX	((int) (SKX_SEGMENT_BYTES_MAX / 1024))

/*
 * Bounds of deletes_pct_allowed.  For each deleted byte, 19 bytes are written
 * at 5, and a ninth of a byte at 90.
 */
#define SKX_DELETES_PCT_MIN		5
#define SKX_DELETES_PCT_MAX		90

static relopt_kind skx_am_relopt_kind;

/* Of a parameter of ranking: its default holds. */
#define SKX_NOT_GIVEN	(-1.0)

/* Largest weight of an occurrence. */
#define SKX_WEIGHT_MAX	100.0

/* Returns a size in kB; -1 if it is not valid. */
static int
skx_am_parse_size(const char *value)
{
	int			size;

	if (!parse_int(value, &size, GUC_UNIT_KB, NULL) || size < 0)
		return -1;
	return size;
}

static void
skx_am_check_block_size(const char *value)
{
	int			size = skx_am_parse_size(value);

	if (size < SKX_BLOCK_SIZE_MIN / 1024 ||
		size > SKX_BLOCK_SIZE_MAX / 1024 || (size & (size - 1)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						"block_size", value),
				 errdetail("It must be a power of two from %dkB to %dkB.",
						   SKX_BLOCK_SIZE_MIN / 1024,
						   SKX_BLOCK_SIZE_MAX / 1024),
				 errhint("Write a size with its unit in quotes, as in '128kB', or a number of kB.")));
}

static void
skx_am_check_pending_limit(const char *value)
{
	if (skx_am_parse_size(value) < SKX_PENDING_LIMIT_MIN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						"pending_limit", value),
				 errdetail("It must be at least %dkB.",
						   SKX_PENDING_LIMIT_MIN),
				 errhint("Write a size with its unit in quotes, as in '4MB', or a number of kB.")));
}

static void
skx_am_check_max_merged_segment(const char *value)
{
	int			size = skx_am_parse_size(value);

	if (size < SKX_MERGED_SEGMENT_MIN || size > SKX_MERGED_SEGMENT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						"max_merged_segment", value),
				 errdetail("It must be from %dMB to %dGB.",
						   SKX_MERGED_SEGMENT_MIN / 1024,
						   SKX_MERGED_SEGMENT_MAX / (1024 * 1024)),
				 errhint("Write a size with its unit in quotes, as in '1GB', or a number of kB.")));
}

/*
 * Reads the weights of labels D, C, B and A, as in '{0.1, 0.2, 0.4, 1}'.
 * Returns false if they are not valid.
 */
static bool
skx_am_parse_weights(const char *value, double weights[4])
{
	char		end[] = ",,,}";
	int			i;

	while (isspace((unsigned char) *value))
		value++;
	if (*value++ != '{')
		return false;
	for (i = 0; i < 4; i++)
	{
		char	   *next;

		weights[i] = strtod(value, &next);
		while (isspace((unsigned char) *next))
			next++;
		/* The comparisons are false for NaN, which is not valid. */
		if (next == value || *next != end[i] ||
			!(weights[i] >= 0 && weights[i] <= SKX_WEIGHT_MAX))
			return false;
		value = next + 1;
	}
	while (isspace((unsigned char) *value))
		value++;
	return *value == '\0';
}

static void
skx_am_check_defaults(const char *value)
{
	if (skx_am_find_defaults(value) != NULL)
		return;
	if (skx_disk_release_parse(value) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						SKX_DEFAULTS_OPTION, value),
				 errdetail("It must be a release of skipidx that has other defaults than the one before.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this library does not have the defaults of skipidx %s",
					value),
			 errhint("Install skipidx %s, or name the defaults of 1.0.",
					 value)));
}

/* NULL, which is no value, is what the server has for no default. */
static void
skx_am_check_weights(const char *value)
{
	double		weights[4];

	if (value != NULL && !skx_am_parse_weights(value, weights))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						"weights", value),
				 errdetail("It must be four numbers from 0 to %g, for the labels D, C, B and A.",
						   SKX_WEIGHT_MAX),
				 errhint("Write them as for ts_rank(), in quotes: '{0.1, 0.2, 0.4, 1.0}'.")));
}

/* Registers the storage parameters of merges. */
static void
skx_am_options_init_merges(void)
{
	char		value[32];

	add_int_reloption(skx_am_relopt_kind, "segments_per_tier",
					  "How many segments of about one size become one, and how many times larger the next size is",
					  SKX_DEFAULT_SEGMENTS_PER_TIER, 2, SKX_POLICY_INPUTS_MAX,
					  ShareUpdateExclusiveLock);
	snprintf(value, sizeof(value), "%dkB", SKX_MERGED_SEGMENT_MAX);
	add_string_reloption(skx_am_relopt_kind, "max_merged_segment",
						 "Size of the largest segment that VACUUM and background workers make of several",
						 value, skx_am_check_max_merged_segment,
						 ShareUpdateExclusiveLock);
	add_int_reloption(skx_am_relopt_kind, "deletes_pct_allowed",
					  "Percentage of a segment's documents that are deleted above which it is written anew",
					  SKX_DEFAULT_DELETES_PCT, SKX_DELETES_PCT_MIN,
					  SKX_DELETES_PCT_MAX, ShareUpdateExclusiveLock);
}

void
skx_am_options_init(void)
{
	char		value[32];

	skx_am_relopt_kind = add_reloption_kind();
	skx_am_options_init_merges();
	snprintf(value, sizeof(value), "%dkB", SKX_DEFAULT_BLOCK_SIZE / 1024);
	add_string_reloption(skx_am_relopt_kind, "block_size",
						 "Size of the blocks that long posting lists are made of; takes effect when the index is rebuilt",
						 value, skx_am_check_block_size,
						 AccessExclusiveLock);
	snprintf(value, sizeof(value), "%dkB", SKX_DEFAULT_PENDING_LIMIT);
	add_string_reloption(skx_am_relopt_kind, "pending_limit",
						 "Size of the list of pending documents at which it is flushed",
						 value, skx_am_check_pending_limit,
						 ShareUpdateExclusiveLock);
	add_bool_reloption(skx_am_relopt_kind, "prefix_lists",
					   "New segments have lists of the prefixes that many rows have",
					   false, ShareUpdateExclusiveLock);
	add_real_reloption(skx_am_relopt_kind, "k1",
					   "How far repeating a word in a document raises its score (BM25)",
					   SKX_NOT_GIVEN, 0.0, 100.0,
					   ShareUpdateExclusiveLock);
	add_real_reloption(skx_am_relopt_kind, "b",
					   "How far the length of a document lowers its score (BM25)",
					   SKX_NOT_GIVEN, 0.0, 1.0, ShareUpdateExclusiveLock);
	add_real_reloption(skx_am_relopt_kind, "proximity",
					   "What neighbouring words of a query add to a score that are neighbours in a document, too, against the weight of the lesser word",
					   SKX_NOT_GIVEN, 0.0, 100.0,
					   ShareUpdateExclusiveLock);
	add_string_reloption(skx_am_relopt_kind, "weights",
						 "How many times an occurrence with label D, C, B or A counts, in steps of 1/256",
						 NULL, skx_am_check_weights,
						 ShareUpdateExclusiveLock);
	add_string_reloption(skx_am_relopt_kind, SKX_DEFAULTS_OPTION,
						 "Release whose defaults hold for k1, b, proximity and weights; set by CREATE INDEX",
						 NULL, skx_am_check_defaults,
						 ShareUpdateExclusiveLock);
}

/*
 * Returns a size in kB that the server has stored as a string behind the
 * struct; `otherwise` if there is none.
 */
static int
skx_am_stored_size(const SkxOptions *options, int offset, int otherwise)
{
	int			size = -1;

	if (offset > 0)
		size = skx_am_parse_size((const char *) options + offset);
	return size > 0 ? size : otherwise;
}

/*
 * Sets the parameters of ranking that are not given.  Until here `weights` and
 * `defaults` are offsets of their strings.
 */
static void
skx_am_complete_ranking(SkxOptions *options)
{
	const char *strings = (const char *) options;
	const SkxDefaults *defaults;

	defaults = skx_am_find_defaults(options->defaults == 0 ? NULL :
									strings + options->defaults);
	options->knows_defaults = defaults != NULL;
	if (defaults == NULL)
		return;
	if (options->k1 < 0)
		options->k1 = defaults->ranking.k1;
	if (options->b < 0)
		options->b = defaults->ranking.b;
	if (options->proximity < 0)
		options->proximity = defaults->ranking.proximity;
	if (options->weights == 0 ||
		!skx_am_parse_weights(strings + options->weights, options->labels))
		memcpy(options->labels, defaults->ranking.labels,
			   sizeof(options->labels));
}

bytea *
skxoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{"block_size", RELOPT_TYPE_STRING, offsetof(SkxOptions, block_size)},
		{"pending_limit", RELOPT_TYPE_STRING,
		offsetof(SkxOptions, pending_limit)},
		{"max_merged_segment", RELOPT_TYPE_STRING,
		offsetof(SkxOptions, max_merged_segment)},
		{"segments_per_tier", RELOPT_TYPE_INT,
		offsetof(SkxOptions, segments_per_tier)},
		{"deletes_pct_allowed", RELOPT_TYPE_INT,
		offsetof(SkxOptions, deletes_pct_allowed)},
		{"prefix_lists", RELOPT_TYPE_BOOL, offsetof(SkxOptions, prefix_lists)},
		{"k1", RELOPT_TYPE_REAL, offsetof(SkxOptions, k1)},
		{"b", RELOPT_TYPE_REAL, offsetof(SkxOptions, b)},
		{"proximity", RELOPT_TYPE_REAL, offsetof(SkxOptions, proximity)},
		{"weights", RELOPT_TYPE_STRING, offsetof(SkxOptions, weights)},
		{SKX_DEFAULTS_OPTION, RELOPT_TYPE_STRING,
		offsetof(SkxOptions, defaults)},
	};
	SkxOptions *options;

	options = (SkxOptions *) build_reloptions(reloptions, validate,
											  skx_am_relopt_kind,
											  sizeof(SkxOptions), elements,
											  lengthof(elements));
	if (options == NULL)
		return NULL;

	/* Until here the sizes are offsets of their strings. */
	options->block_size =
		skx_am_stored_size(options, options->block_size,
						   SKX_DEFAULT_BLOCK_SIZE / 1024) * 1024;
	options->pending_limit =
		skx_am_stored_size(options, options->pending_limit,
						   SKX_DEFAULT_PENDING_LIMIT);
	options->max_merged_segment =
		skx_am_stored_size(options, options->max_merged_segment,
						   SKX_MERGED_SEGMENT_MAX);
	skx_am_complete_ranking(options);
	return (bytea *) options;
}

uint32
skx_am_block_size(Relation index)
{
	const SkxOptions *options = (const SkxOptions *) index->rd_options;

	return options != NULL ? options->block_size : SKX_DEFAULT_BLOCK_SIZE;
}

bool
skx_am_has_prefix_lists(Relation index)
{
	const SkxOptions *options = (const SkxOptions *) index->rd_options;

	return options != NULL && options->prefix_lists;
}

bool
skx_am_find_rank_options(Relation index, SkxRankOptions *options)
{
	const SkxOptions *given = (const SkxOptions *) index->rd_options;

	*options = skx_am_find_defaults(NULL)->ranking;
	if (given == NULL)
		return true;
	if (!given->knows_defaults)
		return false;
	options->k1 = given->k1;
	options->b = given->b;
	options->proximity = given->proximity;
	memcpy(options->labels, given->labels, sizeof(options->labels));
	return true;
}

void
skx_am_rank_options(Relation index, SkxRankOptions *options)
{
	const SkxOptions *given = (const SkxOptions *) index->rd_options;

	if (!skx_am_find_rank_options(index, options))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has the defaults of skipidx %s, which this library does not have",
						RelationGetRelationName(index),
						(const char *) given + given->defaults),
				 errhint("Install skipidx %s or later.",
						 (const char *) given + given->defaults)));
}

void
skx_am_maint_options(Relation index, SkxWorkerRequester asker,
					 SkxMaintOptions *options)
{
	const SkxOptions *given = (const SkxOptions *) index->rd_options;
	SkxRankOptions ranking;
	int			memory = maintenance_work_mem;

	skx_am_rank_options(index, &ranking);
	if ((skx_compat_autovacuum() || asker == SKX_REQUESTER_WORKER) &&
		autovacuum_work_mem != -1)
		memory = autovacuum_work_mem;
	options->k1 = ranking.k1;
	options->b = ranking.b;
	options->memory = (Size) memory * 1024;
	options->prefix_lists = skx_am_has_prefix_lists(index);
	options->needs_all_space = false;
	options->moves = SKX_MOVES_LAST;
	options->requester = asker;
	options->pending_limit = (uint64) 1024 *
		(given != NULL ? given->pending_limit : SKX_DEFAULT_PENDING_LIMIT);
	options->max_merged_segment = (uint64) 1024 *
		(given != NULL ? given->max_merged_segment : SKX_MERGED_SEGMENT_MAX);
	options->segments_per_tier = given != NULL ? given->segments_per_tier :
		SKX_DEFAULT_SEGMENTS_PER_TIER;
	options->deletes_pct_allowed = given != NULL ?
		given->deletes_pct_allowed : SKX_DEFAULT_DELETES_PCT;
	options->purge_up_to = 0;
}
