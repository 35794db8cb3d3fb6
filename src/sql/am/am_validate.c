/*
 * am_validate.c
 *	  Checks an operator class of the access method.
 *
 * There are three kinds of classes:
 *
 * tsvector has strategies 1 and 2 of am.h, with a tsquery on the right.
 * Strategies 3 and 5 are distances to order by, with a reference and a ranking
 * on the right.  Strategy 4 has a disjunction of conditions on columns of the
 * index there.
 *
 * A scalar type has equality for any pair of types, and may have its negation
 * and the other strategies of a btree.  Each type on the right needs its
 * canonical form, or the position of its values among those of the left type.
 *
 * anyarray has equality, `&&`, `@>` and `!&&`.  The elements of arrays belong
 * to a class of a scalar type.
 *
 * In addition, types that CREATE INDEX refuses with a hint have empty classes.
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "read/condition/condition.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

bool
skx_am_type_is_refused(Oid type)
{
	return type == JSONOID || type == JSONBOID;
}

/* The operator class that is checked, and its family. */
typedef struct SkxValidatedOpclass
{
	char	   *name;
	char	   *family_name;
	Oid			family;
	Oid			type;
} SkxValidatedOpclass;

/*
 * Returns true if values of the operator's right side have a canonical form,
 * or a position among those of the left side.
 */
static bool
skx_am_validate_right(Form_pg_amop amop)
{
	Oid			right = amop->amoprighttype;

	return amop->amoplefttype == TSVECTOROID || IsPolymorphicType(right) ||
		OidIsValid(get_opfamily_proc(amop->amopfamily, right, right,
									 SKX_SUPPORT_CANONICAL)) ||
		OidIsValid(skx_condition_cross_type_function(amop->amopfamily,
													 amop->amoplefttype,
													 right));
}

/* Returns true if the purpose of the operator fits its strategy. */
static bool
skx_am_validate_purpose(Form_pg_amop amop, bool ranks)
{
	if (!ranks)
		return amop->amoppurpose == AMOP_SEARCH &&
			!OidIsValid(amop->amopsortfamily);
	return amop->amoppurpose == AMOP_ORDER &&
		opfamily_can_sort_type(amop->amopsortfamily,
							   get_op_rettype(amop->amopopr));
}

static bool
skx_am_validate_signature(Form_pg_amop amop, bool ranks)
{
	if (amop->amoplefttype == TSVECTOROID && !ranks &&
		amop->amopstrategy != SKX_STRATEGY_DISJUNCTION &&
		amop->amoprighttype != TSQUERYOID)
		return false;
	return check_amop_signature(amop->amopopr, ranks ? FLOAT4OID : BOOLOID,
								amop->amoplefttype, amop->amoprighttype);
}

static bool
skx_am_validate_strategy(Form_pg_amop amop)
{
	if (amop->amoplefttype == TSVECTOROID)
		return amop->amopstrategy >= SKX_STRATEGY_MATCH &&
			amop->amopstrategy <= SKX_STRATEGY_RANKING;
	if (amop->amoplefttype == ANYARRAYOID)
		return amop->amopstrategy == SKX_STRATEGY_EQUAL ||
			amop->amopstrategy == SKX_STRATEGY_OVERLAPS ||
			amop->amopstrategy == SKX_STRATEGY_CONTAINS ||
			amop->amopstrategy == SKX_STRATEGY_DISJOINT;
	return amop->amopstrategy == SKX_STRATEGY_EQUAL ||
		amop->amopstrategy == SKX_STRATEGY_DIFFERS ||
		skx_column_is_range(amop->amopstrategy);
}

static bool
skx_am_validate_operator(const SkxValidatedOpclass *class, Form_pg_amop amop)
{
	bool		tsvector = amop->amoplefttype == TSVECTOROID;
	bool		ranks = tsvector &&
		(amop->amopstrategy == SKX_STRATEGY_RANK ||
		 amop->amopstrategy == SKX_STRATEGY_RANKING);
	const char *problem;

	if (!skx_am_validate_strategy(amop))
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator family \"%s\" of access method %s contains operator %s with invalid strategy number %d",
						class->family_name, "skipidx",
						format_operator(amop->amopopr),
						amop->amopstrategy)));
		return false;
	}
	if (!skx_am_validate_purpose(amop, ranks))
		problem = "operator family \"%s\" of access method %s contains invalid ORDER BY specification for operator %s";
	else if (!skx_am_validate_right(amop))
		problem = "operator family \"%s\" of access method %s lacks the support function for the right side of operator %s";
	else if (!skx_am_validate_signature(amop, ranks))
		problem = "operator family \"%s\" of access method %s contains operator %s with wrong signature";
	else
		return true;
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg(problem, class->family_name, "skipidx",
					format_operator(amop->amopopr))));
	return false;
}

/* Returns true if the class has the operator that it needs. */
static bool
skx_am_validate_complete(const SkxValidatedOpclass *class, uint32 strategies)
{
	int			needed = class->type == TSVECTOROID ?
		SKX_STRATEGY_MATCH : SKX_STRATEGY_EQUAL;

	if ((strategies & (1 << needed)) != 0 ||
		skx_am_type_is_refused(class->type))
		return true;
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method %s is missing operator %d",
					class->name, "skipidx", needed)));
	return false;
}

/*
 * Returns true if the function has the signature of the support function for
 * canonical forms, or of the one for positions among values of another type.
 */
static bool
skx_am_validate_shape(Form_pg_amproc proc)
{
	Oid			left = proc->amproclefttype;
	Oid			right = proc->amprocrighttype;

	if (left == TSVECTOROID || left == ANYARRAYOID)
		return false;
	if (proc->amprocnum == SKX_SUPPORT_CANONICAL)
		return left == right &&
			check_amproc_signature(proc->amproc, BYTEAOID, false, 1, 1, left);
	return proc->amprocnum == SKX_SUPPORT_CROSS_TYPE && left != right &&
		check_amproc_signature(proc->amproc, INTERNALOID, true, 2, 2, right,
							   INTERNALOID);
}

static bool
skx_am_validate_function(const SkxValidatedOpclass *class, Form_pg_amproc proc)
{
	if (skx_am_validate_shape(proc))
		return true;
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s contains function %s with wrong signature for support number %d",
					class->family_name, "skipidx",
					format_procedure(proc->amproc), proc->amprocnum)));
	return false;
}

/*
 * Returns true if all functions of the family are valid, and the class has the
 * support function of its own type.
 */
static bool
skx_am_validate_functions(const SkxValidatedOpclass *class)
{
	CatCList   *list = SearchSysCacheList1(AMPROCNUM,
										   ObjectIdGetDatum(class->family));
	bool		found = class->type == TSVECTOROID ||
		class->type == ANYARRAYOID || skx_am_type_is_refused(class->type);
	bool		valid = true;
	int			i;

	for (i = 0; i < list->n_members; i++)
	{
		Form_pg_amproc proc = (Form_pg_amproc)
			GETSTRUCT(&list->members[i]->tuple);

		valid &= skx_am_validate_function(class, proc);
		found |= proc->amprocnum == SKX_SUPPORT_CANONICAL &&
			proc->amproclefttype == class->type;
	}
	ReleaseCatCacheList(list);
	if (!found)
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s is missing support function %d",
						class->name, "skipidx", SKX_SUPPORT_CANONICAL)));
	return valid && found;
}

static char *
skx_am_family_name(Oid family)
{
	HeapTuple	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

bool
skxvalidate(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	SkxValidatedOpclass class;
	CatCList   *list;
	uint32		strategies = 0;
	bool		valid = true;
	int			i;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	class.name = pstrdup(NameStr(form->opcname));
	class.family = form->opcfamily;
	class.family_name = skx_am_family_name(form->opcfamily);
	class.type = form->opcintype;
	ReleaseSysCache(tuple);

	list = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(class.family));
	for (i = 0; i < list->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop)
			GETSTRUCT(&list->members[i]->tuple);

		if (!skx_am_validate_operator(&class, amop))
			valid = false;
		else if (IsPolymorphicType(amop->amoplefttype) ||
				 (amop->amoplefttype == class.type &&
				  (class.type == TSVECTOROID ||
				   amop->amoprighttype == class.type)))
			strategies |= 1 << amop->amopstrategy;
	}
	ReleaseCatCacheList(list);
	if (!skx_am_validate_complete(&class, strategies))
		valid = false;
	if (!skx_am_validate_functions(&class))
		valid = false;
	return valid;
}
