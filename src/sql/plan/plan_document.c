/*
 * plan_document.c
 *	  The columns of text that the document of an index is made of.
 *
 * An index on to_tsvector('english', body) has documents made of the column
 * body.  One on setweight(to_tsvector('english', title), 'A') ||
 * to_tsvector('english', body) has documents made of two columns.  A search of
 * the columns need not repeat the expression: words are parsed by the index's
 * configuration, and are looked for in the index's documents.
 *
 * A column of several is told from the others by its label, if no other part
 * of the document has it.  Words are then looked for with this label.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "sql/plan/plan_words.h"
#include "support/compat/compat_planner.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/* A part of a document: what one call of to_tsvector() makes. */
typedef struct SkxDocumentPart
{
	Oid			config;
	char		label;			/* 'A' to 'D' */
	List	   *columns;		/* of ints, in the order of their places */
} SkxDocumentPart;

/*
 * Adds the columns of a text to the list.  It may be a column, or columns and
 * constants with `||` between them, each of which may be in coalesce().
 * Returns false for any other text: words would have to be changed like it.
 */
static bool
skx_plan_text_columns(Node *text, List **columns)
{
	List	   *args = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (text == NULL)
		return false;
	switch (nodeTag(text))
	{
		case T_Const:
			return true;
		case T_Var:
			if (((Var *) text)->varattno <= 0)
				return false;
			*columns = list_append_unique_int(*columns,
											  ((Var *) text)->varattno);
			return true;
		case T_RelabelType:
			return skx_plan_text_columns((Node *) ((RelabelType *) text)->arg,
										 columns);
		case T_CoalesceExpr:
			args = ((CoalesceExpr *) text)->args;
			break;
		case T_OpExpr:
			if (get_opcode(((OpExpr *) text)->opno) != F_TEXTCAT)
				return false;
			args = ((OpExpr *) text)->args;
			break;
		default:
			return false;
	}
	foreach(lc, args)
	{
		if (!skx_plan_text_columns(lfirst(lc), columns))
			return false;
	}
	return true;
}

/* Returns the value of a constant; false if it is none, or NULL. */
static bool
skx_plan_const_value(Node *node, Datum *value)
{
	const Const *constant = (const Const *) node;

	if (!IsA(node, Const) || constant->constisnull)
		return false;
	*value = constant->constvalue;
	return true;
}

/*
 * Returns true if the call makes a tsvector of a configuration and a text:
 * to_tsvector(), or skipidx_document(), which is in the schema of the operator
 * that ranks.
 */
static bool
skx_plan_is_parse(const FuncExpr *call, Oid operator)
{
	if (call->funcid == F_TO_TSVECTOR_REGCONFIG_TEXT)
		return true;
	return list_length(call->args) == 2 &&
		exprType(linitial(call->args)) == REGCONFIGOID &&
		exprType(lsecond(call->args)) == TEXTOID &&
		get_func_namespace(call->funcid) ==
		get_func_namespace(get_opcode(operator)) &&
		strcmp(get_func_name(call->funcid), "skipidx_document") == 0;
}

/*
 * Adds the parts of a document, which `operator` ranks, to the list.  `label`
 * is that of the setweight() around it, 0 if there is none.  Returns false if
 * it has another form.
 */
static bool
skx_plan_document_parts(Node *document, Oid operator, char label,
						List **parts)
{
	FuncExpr   *call = (FuncExpr *) document;
	SkxDocumentPart *part;
	Datum		value;

	check_stack_depth();
	if (IsA(document, RelabelType))
		return skx_plan_document_parts((Node *) ((RelabelType *) document)->arg,
									   operator, label, parts);
	if (IsA(document, OpExpr))
	{
		OpExpr	   *op = (OpExpr *) document;

		return get_opcode(op->opno) == F_TSVECTOR_CONCAT &&
			skx_plan_document_parts(linitial(op->args), operator, label,
									parts) &&
			skx_plan_document_parts(lsecond(op->args), operator, label, parts);
	}
	if (!IsA(document, FuncExpr))
		return false;
	if (call->funcid == F_SETWEIGHT_TSVECTOR_CHAR)
	{
		if (!skx_plan_const_value(lsecond(call->args), &value))
			return false;
		if (label == 0)
			label = pg_toupper((unsigned char) DatumGetChar(value));
		/* of others setweight() makes an error, once there is a row */
		return label >= 'A' && label <= 'D' &&
			skx_plan_document_parts(linitial(call->args), operator, label,
									parts);
	}
	if (!skx_plan_is_parse(call, operator) ||
		!skx_plan_const_value(linitial(call->args), &value))
		return false;
	part = palloc0(sizeof(SkxDocumentPart));
	part->config = DatumGetObjectId(value);
	part->label = label == 0 ? 'D' : label;
	*parts = lappend(*parts, part);
	return skx_plan_text_columns(lsecond(call->args), &part->columns);
}

/*
 * Fills in configuration and labels for the operand of these columns, which is
 * the whole document.  Returns false if it has other columns, in another
 * order, or several configurations.
 */
static bool
skx_plan_whole_document(const List *parts, const List *columns,
						SkxDocumentForm *form)
{
	List	   *found = NIL;
	ListCell   *lc;

	form->config = ((SkxDocumentPart *) linitial(parts))->config;
	form->labels = 0;
	foreach(lc, parts)
	{
		SkxDocumentPart *part = lfirst(lc);

		if (part->config != form->config)
			return false;
		found = list_concat_unique_int(found, part->columns);
	}
	return equal(found, columns);
}

/*
 * Does the same for one column of several: a part of its own, whose label no
 * other part has.
 */
static bool
skx_plan_labelled_part(const List *parts, const List *columns,
					   SkxDocumentForm *form)
{
	SkxDocumentPart *own = NULL;
	ListCell   *lc;

	if (list_length(columns) != 1)
		return false;
	foreach(lc, parts)
	{
		SkxDocumentPart *part = lfirst(lc);

		if (!list_member_int(part->columns, linitial_int(columns)))
			continue;
		if (own != NULL || list_length(part->columns) != 1)
			return false;
		own = part;
	}
	if (own == NULL)
		return false;
	foreach(lc, parts)
	{
		SkxDocumentPart *part = lfirst(lc);

		if (part != own && part->label == own->label)
			return false;
	}
	form->config = own->config;
	form->labels = 1 << ('D' - own->label);
	return true;
}

/*
 * Returns the expression that the first column of the index has, or that its
 * generated column is made by; NULL if there is none.
 */
static Node *
skx_plan_document_expression(Relation table, Relation index,
							 AttrNumber *stored)
{
	AttrNumber	column = index->rd_index->indkey.values[0];
	Form_pg_attribute attribute;

	*stored = column;
	if (column == 0)
		return linitial(RelationGetIndexExpressions(index));
	attribute = TupleDescAttr(RelationGetDescr(table), column - 1);
	if (attribute->attgenerated != ATTRIBUTE_GENERATED_STORED ||
		attribute->atttypid != TSVECTOROID)
		return NULL;
	return skx_plan_simplify(build_column_default(table, column));
}

/* Replaces columns of the operand, the context, by parameters. */
static Node *
skx_plan_parameter_mutator(Node *node, void *context)
{
	const List *columns = context;
	const Var  *var = (const Var *) node;
	Param	   *param;
	int			i;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, skx_plan_parameter_mutator,
									   context);
	for (i = 0; i < list_length(columns); i++)
	{
		if (list_nth_int(columns, i) == var->varattno)
			break;
	}
	if (i == list_length(columns))
		return copyObject(node);
	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = i + 1;
	param->paramtype = var->vartype;
	param->paramtypmod = var->vartypmod;
	param->paramcollid = var->varcollid;
	param->location = -1;
	return (Node *) param;
}

bool
skx_plan_document_form(Relation table, Relation index, Oid operator,
					   const List *columns, SkxDocumentForm *form)
{
	Node	   *document;
	List	   *parts = NIL;

	if (columns == NIL)
		return false;
	document = skx_plan_document_expression(table, index, &form->stored);
	if (document == NULL ||
		!skx_plan_document_parts(document, operator, 0, &parts) ||
		(!skx_plan_whole_document(parts, columns, form) &&
		 !skx_plan_labelled_part(parts, columns, form)))
		return false;
	form->document = skx_plan_parameter_mutator(document, (void *) columns);
	return true;
}

bool
skx_plan_same_form(const SkxDocumentForm *a, const SkxDocumentForm *b)
{
	return a->config == b->config && a->labels == b->labels &&
		equal(a->document, b->document);
}

List *
skx_plan_operand_columns(Node *operand)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, skx_plan_operand_parts(operand))
	{
		Node	   *part = lfirst(lc);

		if (!IsA(part, Var) || ((Var *) part)->varattno <= 0)
			return NIL;
		columns = lappend_int(columns, ((Var *) part)->varattno);
	}
	return columns;
}

List *
skx_plan_operand_parts(Node *operand)
{
	List	   *parts = NIL;
	ListCell   *lc;

	if (!IsA(operand, RowExpr))
		return list_make1(skx_plan_unrelabel(operand));
	foreach(lc, ((RowExpr *) operand)->args)
	{
		parts = lappend(parts, skx_plan_unrelabel(lfirst(lc)));
	}
	return parts;
}

/* ---- the document of an operand ---- */

/*
 * Returns true if groups of the query are made by the column, or by it under
 * another type.  A column of a join that is still to be replaced may be any.
 */
static bool
skx_plan_is_grouped(const Query *query, const Var *column)
{
	ListCell   *lc;

	foreach(lc, query->groupClause)
	{
		Node	   *group = get_sortgroupclause_expr(lfirst(lc),
													 query->targetList);
		const Var  *var = (const Var *)
			skx_plan_unrelabel(skx_plan_simplify(group));

		if (!IsA(var, Var) || var->varlevelsup != 0)
			continue;
		if (rt_fetch(var->varno, query->rtable)->rtekind == RTE_JOIN ||
			(var->varno == column->varno && var->varattno == column->varattno))
			return true;
	}
	return false;
}

/*
 * Returns the query of which the expression is a column of a table, standing
 * for the column of one row there, not for that of a group; else NULL.  Once
 * the planner works on that query it has noted which columns a LATERAL
 * subquery needs, so that no other one can be had.
 */
static Query *
skx_plan_query_of_column(PlannerInfo *root, Node *expr)
{
	const Var  *var = (const Var *) expr;
	Index		up;

	if (!IsA(expr, Var))
		return NULL;
	for (up = var->varlevelsup; up > 0 && root != NULL; up--)
		root = root->parent_root;
	if (root == NULL || root->simple_rel_array != NULL || var->varno < 1 ||
		var->varno > list_length(root->parse->rtable) ||
		rt_fetch(var->varno, root->parse->rtable)->rtekind != RTE_RELATION ||
		skx_plan_is_grouped(root->parse, var))
		return NULL;
	return root->parse;
}

/* An operand whose document is made, and its table. */
typedef struct SkxDocumentOperand
{
	List	   *parts;
	const Var  *column;			/* one of its table; NULL: not of a table */
	bool		lacks_column;	/* of a table that is not at hand */
} SkxDocumentOperand;

/* Returns a column of the operand's table. */
static Node *
skx_plan_sibling(const Var *column, AttrNumber number, Oid type, int32 typmod,
				 Oid collation)
{
	Var		   *var = copyObject((Var *) column);

	var->varattno = number;
	var->varattnosyn = var->varnosyn > 0 ? number : 0;
	var->vartype = type;
	var->vartypmod = typmod;
	var->varcollid = collation;
	var->location = -1;
	return (Node *) var;
}

static Node *
skx_plan_document_mutator(Node *node, void *context)
{
	SkxDocumentOperand *operand = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param))
		return copyObject(list_nth(operand->parts,
								   ((Param *) node)->paramid - 1));
	if (!IsA(node, Var))
		return expression_tree_mutator(node, skx_plan_document_mutator,
									   context);
	if (operand->column == NULL)
	{
		operand->lacks_column = true;
		return copyObject(node);
	}
	return skx_plan_sibling(operand->column, var->varattno, var->vartype,
							var->vartypmod, var->varcollid);
}

/*
 * Returns true if the statement's user may read all columns of the document of
 * which the operand is one, or is refused by the check of rights: how common
 * words are, and how long a document is, tells of the others.  The reader of a
 * view may do what the view does: it must read them all itself.
 */
static bool
skx_plan_may_read_document(Query *query, const SkxBinding *binding,
						   const Var *column)
{
	Bitmapset  *columns = NULL;

	pull_varattnos(binding->form.document, 1, &columns);
	return skx_compat_need_select(query, rt_fetch(column->varno, query->rtable),
								  column->varattno, columns);
}

Node *
skx_plan_document(PlannerInfo *root, const SkxBinding *binding, Node *operand)
{
	SkxDocumentOperand made = {skx_plan_operand_parts(operand)};
	Query	   *query = NULL;
	Node	   *document;
	ListCell   *lc;

	foreach(lc, made.parts)
	{
		query = binding->is_near ?
			skx_plan_query_of_column(root, lfirst(lc)) : NULL;
		if (query == NULL)
			break;
	}
	if (query != NULL)
		made.column = linitial(made.parts);
	if (query != NULL && binding->form.labels != 0 &&
		!skx_plan_may_read_document(query, binding, made.column))
		return NULL;
	if (query != NULL && binding->form.stored != 0)
		return skx_plan_sibling(made.column, binding->form.stored, TSVECTOROID,
								-1, InvalidOid);
	document = skx_plan_document_mutator(binding->form.document, &made);
	return made.lacks_column ? NULL : document;
}
