/*
 * condition_disjunction.c
 *	  Makes disjunctions of conditions on several columns, and turns them into
 *	  conditions on documents.
 */
#include "postgres.h"

#include "fmgr.h"
#include "read/condition/condition_disjunction.h"
#include "support/compat/compat.h"
#include "tsearch/ts_utils.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

/* ---- packing ---- */

static void
skx_condition_append_aligned(StringInfo out, const char *bytes, int len)
{
	static const char zeros[MAXIMUM_ALIGNOF];

	appendBinaryStringInfo(out, bytes, len);
	appendBinaryStringInfo(out, zeros, MAXALIGN(len) - len);
}

void
skx_condition_pack_begin(StringInfo out)
{
	SkxDisjunction head = {0};

	initStringInfo(out);
	skx_condition_append_aligned(out, (const char *) &head, sizeof(head));
}

void
skx_condition_pack(StringInfo out, SkxPackedCondition packed, Datum value)
{
	SkxDisjunction *disjunction;
	const char *bytes = NULL;
	int16		len;
	bool		byval;

	packed.len = 0;
	if (OidIsValid(packed.operator) &&
		(packed.flags & (SK_ISNULL | SKX_PACKED_OPEN)) == 0)
	{
		get_typlenbyval(packed.type, &len, &byval);
		if (len == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM(value));
		packed.len = byval ? (int32) sizeof(Datum) :
			(int32) datumGetSize(value, byval, len);
		bytes = byval ? (const char *) &value : DatumGetPointer(value);
	}
	skx_condition_append_aligned(out, (const char *) &packed, sizeof(packed));
	if (bytes != NULL)
		skx_condition_append_aligned(out, bytes, packed.len);
	disjunction = (SkxDisjunction *) out->data;
	disjunction->n++;
	disjunction->on_text |= packed.column == 1 && OidIsValid(packed.operator);
}

SkxDisjunction *
skx_condition_pack_end(StringInfo out, bool exact, double gather)
{
	SkxDisjunction *disjunction = (SkxDisjunction *) out->data;

	SET_VARSIZE(disjunction, out->len);
	disjunction->exact = exact;
	disjunction->gather = (float4) gather;
	return disjunction;
}

Datum
skx_condition_packed_value(const SkxPackedCondition *packed)
{
	const char *value = (const char *) packed +
		MAXALIGN(sizeof(SkxPackedCondition));

	if (!get_typbyval(packed->type))
		return PointerGetDatum(value);
	return *(const Datum *) value;
}

/* ---- conditions on documents ---- */

/*
 * Sets *key to the scan key of one condition, as the executor would make it.
 */
static void
skx_condition_packed_key(Relation index, const SkxPackedCondition *packed,
						 ScanKeyData *key)
{
	Oid			left;
	int			strategy;

	Assert(packed->column > 0 &&
		   packed->column <= IndexRelationGetNumberOfKeyAttributes(index));
	Assert((packed->flags & SKX_PACKED_OPEN) == 0);
	memset(key, 0, sizeof(*key));
	key->sk_attno = packed->column;
	key->sk_flags = packed->flags;
	if (!OidIsValid(packed->operator))
		return;
	get_op_opfamily_properties(packed->operator,
							   index->rd_opfamily[packed->column - 1], false,
							   &strategy, &left, &key->sk_subtype);
	key->sk_strategy = strategy;
	if ((packed->flags & SK_ISNULL) == 0)
		key->sk_argument = skx_condition_packed_value(packed);
}

/* Returns false if no document can meet all conditions of the arm. */
static bool
skx_condition_is_possible(const SkxArm *arm)
{
	int			i;

	for (i = 0; i < arm->n; i++)
		if (arm->conditions[i].kind == SKX_CONDITION_NEVER)
			return false;
	return true;
}

/*
 * Adds that the text is not NULL if the arm's last condition has a query that
 * may match texts without words.  A text that is NULL matches no query.
 */
static void
skx_condition_add_not_null(Relation index, SkxArm *arm)
{
	const SkxCondition *last = &arm->conditions[arm->n - 1];
	ScanKeyData key = {SK_ISNULL | SK_SEARCHNOTNULL, 1};
	bool		any = false;
	int			i;

	for (i = 0; last->kind == SKX_CONDITION_QUERIES && i < last->n; i++)
		any |= !tsquery_requires_match(GETQUERY(last->queries[i]));
	if (any)
		skx_condition_of_key(index, &key, &arm->conditions[arm->n++]);
}

/*
 * Reads the conditions of one arm, of *left that are still to be read.
 * Returns the first condition of the next arm.
 */
static const SkxPackedCondition *
skx_condition_read_arm(Relation index, const SkxPackedCondition *packed,
					   int *left, SkxArm *arm)
{
	int32		number = packed->arm;

	arm->conditions = palloc(sizeof(SkxCondition) * 2 * *left);
	arm->n = 0;
	for (; *left > 0 && packed->arm == number; (*left)--)
	{
		ScanKeyData key;

		skx_condition_packed_key(index, packed, &key);
		skx_condition_of_key(index, &key, &arm->conditions[arm->n++]);
		skx_condition_add_not_null(index, arm);
		packed = skx_condition_next_packed(packed);
	}
	return packed;
}

void
skx_condition_disjunction(Relation index, Datum argument,
						  SkxCondition *condition)
{
	const SkxDisjunction *disjunction = (SkxDisjunction *)
		PG_DETOAST_DATUM(argument);
	const SkxPackedCondition *packed = skx_condition_first_packed(disjunction);
	int			left = disjunction->n;
	int			i;

	condition->arms = palloc(sizeof(SkxArm) * Max(left, 1));
	while (left > 0)
	{
		SkxArm	   *arm = &condition->arms[condition->narms];

		packed = skx_condition_read_arm(index, packed, &left, arm);
		arm->n = skx_condition_join_conditions(arm->conditions, arm->n);
		if (!skx_condition_is_possible(arm))
			continue;
		for (i = 0; i < arm->n; i++)
			condition->lossy |= arm->conditions[i].lossy;
		condition->narms++;
	}
	if (condition->narms == 1 && condition->arms[0].n == 1)
		*condition = condition->arms[0].conditions[0];
	else if (condition->narms > 0)
		condition->kind = SKX_CONDITION_DISJUNCTION;
}
