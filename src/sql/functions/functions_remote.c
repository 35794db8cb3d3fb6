/*
 * functions_remote.c
 *	  Rankings of foreign tables, which their servers make of indexes there.
 *
 * The servers are asked by the extension dblink, all at once, with the user
 * mappings and the rights of the caller.  dblink is called as a user could
 * call it, by its qualified name.  It waits for a result without heeding a
 * cancel on some server versions.  So it is asked for a result only when there
 * is one.
 *
 * A server is asked twice over one connection: where its extension is, and for
 * the rankings.  If a call ends early, the connections are closed.  The servers
 * are told to look whether theirs still is there while they work.  So they end,
 * whatever has become of the process here.  A request to cancel would be sent
 * by a new connection, for which some server versions wait without an end.
 *
 * What comes back is text from elsewhere, which is checked as any input is.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "sql/functions/functions_internal.h"
#include "storage/latch.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* Between two looks whether a server has answered: first and longest, ms. */
#define SKX_REMOTE_FIRST_MS		1
#define SKX_REMOTE_LONGEST_MS	10

/*
 * What a server gets first: how expressions are to be written, how often it is
 * to look whether the connection still is there, and what its extension is to
 * be called by.
 */
#define SKX_REMOTE_FIRST \
	"SET search_path = pg_catalog, pg_temp; " \
	"SET client_connection_check_interval = '100ms'; " \
	"SELECT (SELECT pg_catalog.quote_ident(n.nspname::pg_catalog.text) " \
	"FROM pg_catalog.pg_extension AS e " \
	"JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace " \
	"WHERE e.extname = 'skipidx')"

/* What a server returns, in this order. */
typedef enum SkxRemoteResult
{
	SKX_REMOTE_SET_PATH,
	SKX_REMOTE_SET_INTERVAL,
	SKX_REMOTE_SCHEMA,
	SKX_REMOTE_FIRST_END,		/* nothing more until it is asked again */
	SKX_REMOTE_RANKINGS,
	SKX_REMOTE_NRESULTS
} SkxRemoteResult;

/* A server with foreign tables, and the connection to it. */
typedef struct SkxRemoteServer
{
	ForeignServer *server;
	List	   *tables;			/* OIDs of its foreign tables */
	StringInfoData rows;		/* of VALUES: number, table and key there */
	char	   *schema;			/* of its extension, quoted; NULL: not known */
	char		connection[NAMEDATALEN];	/* its name for dblink */
	bool		connected;
	SkxRemoteResult next;		/* what is received next */
} SkxRemoteServer;

/* What is asked of all servers. */
typedef struct SkxRemote
{
	Relation	heap;
	Relation	index;
	TSQuery		query;
	List	   *servers;		/* SkxRemoteServer */
	const char *get_result;		/* a query for the result of connection $1 */
	FmgrInfo	connect;		/* functions of dblink ... */
	FmgrInfo	send;
	FmgrInfo	is_busy;
	FmgrInfo	disconnect;
	MemoryContext context;		/* of what the sum points to */
	SkxRanking *sum;
} SkxRemote;

/* ---- what to ask ---- */

/* Returns the value of a foreign object's option, or `otherwise`. */
static const char *
skx_remote_option(List *options, const char *name, const char *otherwise)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) == 0)
			return defGetString(option);
	}
	return otherwise;
}

/* Returns the quoted name that a foreign table has on its server. */
static const char *
skx_remote_table(Relation rel)
{
	List	   *options = GetForeignTable(RelationGetRelid(rel))->options;
	const char *schema = get_namespace_name(RelationGetNamespace(rel));

	return quote_qualified_identifier(skx_remote_option(options, "schema_name",
														schema),
									  skx_remote_option(options, "table_name",
														RelationGetRelationName(rel)));
}

/*
 * Returns the first column of the index as the server of a foreign table
 * writes it: the name that the column has there, or the expression.
 */
static const char *
skx_remote_key(const SkxRemote *remote, Relation rel)
{
	AttrNumber	column = remote->index->rd_index->indkey.values[0];
	const char *name;
	AttrNumber	own;

	if (column == 0)
		return TextDatumGetCString(DirectFunctionCall3(pg_get_indexdef_ext,
													   ObjectIdGetDatum(RelationGetRelid(remote->index)),
													   Int32GetDatum(1),
													   BoolGetDatum(false)));
	name = get_attname(RelationGetRelid(remote->heap), column, false);
	own = get_attnum(RelationGetRelid(rel), name);
	return quote_identifier(skx_remote_option(GetForeignColumnOptions(RelationGetRelid(rel),
																	  own),
											  "column_name", name));
}

/* Returns the condition of the index, quoted as a literal; NULL has none. */
static const char *
skx_remote_condition(const SkxRemote *remote)
{
	bool		isnull;
	Datum		predicate = SysCacheGetAttr(INDEXRELID,
											remote->index->rd_indextuple,
											Anum_pg_index_indpred, &isnull);
	Datum		written;

	if (isnull)
		return "NULL";
	written = DirectFunctionCall2(pg_get_expr, predicate,
								  ObjectIdGetDatum(RelationGetRelid(remote->heap)));
	return quote_literal_cstr(TextDatumGetCString(written));
}

/* Returns the entry of a server, a new one for the first of its tables. */
static SkxRemoteServer *
skx_remote_server(SkxRemote *remote, Oid oid)
{
	static uint32 nconnections = 0;
	SkxRemoteServer *to;
	ForeignServer *server;
	const char *handler;
	ListCell   *lc;

	foreach(lc, remote->servers)
	{
		to = lfirst(lc);
		if (to->server->serverid == oid)
			return to;
	}
	server = GetForeignServer(oid);
	handler = get_func_name(GetForeignDataWrapper(server->fdwid)->fdwhandler);
	if (handler == NULL || strcmp(handler, "postgres_fdw_handler") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("server \"%s\" cannot be asked for a ranking",
						server->servername),
				 errdetail("Its tables are not those of postgres_fdw."),
				 errhint("Make rankings of the other tables, and add them up with sum().")));
	to = palloc0(sizeof(SkxRemoteServer));
	to->server = server;
	snprintf(to->connection, NAMEDATALEN, "skipidx_ranking %u",
			 ++nconnections);
	initStringInfo(&to->rows);
	remote->servers = lappend(remote->servers, to);
	return to;
}

/* Adds a foreign table to what is asked of its server. */
static void
skx_remote_add_table(SkxRemote *remote, Relation rel)
{
	SkxRemoteServer *to =
		skx_remote_server(remote, GetForeignServerIdByRelId(RelationGetRelid(rel)));

	appendStringInfo(&to->rows, "%s(%d, %s, %s)",
					 to->tables == NIL ? "" : ", ", list_length(to->tables),
					 quote_literal_cstr(skx_remote_table(rel)),
					 quote_literal_cstr(skx_remote_key(remote, rel)));
	to->tables = lappend_oid(to->tables, RelationGetRelid(rel));
}

/* Finds the foreign tables among the partitions or heirs of the table. */
static void
skx_remote_find_tables(SkxRemote *remote)
{
	List	   *tables = find_all_inheritors(RelationGetRelid(remote->heap),
											 AccessShareLock, NULL);
	ListCell   *lc;

	foreach(lc, tables)
	{
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(lc)) != RELKIND_FOREIGN_TABLE)
			continue;
		rel = table_open(lfirst_oid(lc), NoLock);
		skx_remote_add_table(remote, rel);
		table_close(rel, NoLock);
	}
	list_free(tables);
}

/*
 * Returns the statement for a server that returns a ranking for each table, in
 * their order.  A table has the ranking of its oldest valid index with the same
 * first column and condition, and NULL if it has no such index.
 */
static char *
skx_remote_statement(const SkxRemote *remote, const SkxRemoteServer *to)
{
	char	   *query = DatumGetCString(DirectFunctionCall1(tsqueryout,
															TSQueryGetDatum(remote->query)));

	return psprintf("SELECT (SELECT %s.skx_ranking_here(i.indexrelid::pg_catalog.regclass, %s::pg_catalog.tsquery)::pg_catalog.text "
					"FROM (SELECT x.indexrelid FROM pg_catalog.pg_index AS x "
					"JOIN pg_catalog.pg_class AS c ON c.oid = x.indexrelid "
					"JOIN pg_catalog.pg_am AS a ON a.oid = c.relam "
					"WHERE x.indrelid = pg_catalog.to_regclass(t.name) "
					"AND a.amname = 'skipidx' AND x.indisvalid "
					"AND pg_catalog.pg_get_indexdef(x.indexrelid, 1, false) = t.key "
					"AND pg_catalog.pg_get_expr(x.indpred, x.indrelid) IS NOT DISTINCT FROM %s "
					"ORDER BY x.indexrelid LIMIT 1) AS i) "
					"FROM (VALUES %s) AS t (n, name, key) ORDER BY t.n",
					to->schema, quote_literal_cstr(query),
					skx_remote_condition(remote), to->rows.data);
}

/* ---- dblink ---- */

/*
 * Finds a function of dblink whose arguments are all text.  Errors out unless
 * the caller may execute it.
 */
static void
skx_remote_find_function(const char *schema, const char *name, int nargs,
						 FmgrInfo *function)
{
	Oid			types[2] = {TEXTOID, TEXTOID};
	Oid			oid = LookupFuncName(list_make2(makeString(pstrdup(schema)),
												makeString(pstrdup(name))),
									 nargs, types, false);

	if (!skx_compat_may_execute(oid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, name);
	fmgr_info_cxt(oid, function, CurrentMemoryContext);
}

static void
skx_remote_find_dblink(SkxRemote *remote)
{
	char	   *schema;

	if (SPI_execute("SELECT n.nspname FROM pg_extension AS e "
					"JOIN pg_namespace AS n ON n.oid = e.extnamespace "
					"WHERE e.extname = 'dblink'", true, 1) != SPI_OK_SELECT)
		elog(ERROR, "cannot look for dblink");
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"dblink\" is not installed"),
				 errdetail("Table \"%s\" has foreign tables, whose servers are asked for their rankings by it.",
						   RelationGetRelationName(remote->heap)),
				 errhint("CREATE EXTENSION dblink, or make rankings on each server, and add them up with sum().")));
	schema = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	remote->get_result = psprintf("SELECT r FROM %s.dblink_get_result($1) AS t (r text)",
								  quote_identifier(schema));
	skx_remote_find_function(schema, "dblink_connect", 2, &remote->connect);
	skx_remote_find_function(schema, "dblink_send_query", 2, &remote->send);
	skx_remote_find_function(schema, "dblink_is_busy", 1, &remote->is_busy);
	skx_remote_find_function(schema, "dblink_disconnect", 1,
							 &remote->disconnect);
}

static void
skx_remote_send(SkxRemote *remote, SkxRemoteServer *to, const char *statements)
{
	if (DatumGetInt32(FunctionCall2(&remote->send,
									CStringGetTextDatum(to->connection),
									CStringGetTextDatum(statements))) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not ask server \"%s\" for a ranking",
						to->server->servername)));
}

static void
skx_remote_connect(SkxRemote *remote, SkxRemoteServer *to)
{
	FunctionCall2(&remote->connect, CStringGetTextDatum(to->connection),
				  CStringGetTextDatum(to->server->servername));
	to->connected = true;
	skx_remote_send(remote, to, SKX_REMOTE_FIRST);
}

/* Closes all connections.  Uses no catalog: an error may be under way. */
static void
skx_remote_disconnect(SkxRemote *remote)
{
	ListCell   *lc;

	foreach(lc, remote->servers)
	{
		SkxRemoteServer *to = lfirst(lc);

		if (!to->connected)
			continue;
		to->connected = false;
		FunctionCall1(&remote->disconnect,
					  CStringGetTextDatum(to->connection));
	}
}

/* ---- what comes back ---- */

/* Adds the ranking of a foreign table, a text or NULL, to the sum. */
static void
skx_remote_add(SkxRemote *remote, const SkxRemoteServer *to, int table,
			   const char *text)
{
	const char *name = get_rel_name(list_nth_oid(to->tables, table));
	MemoryContext old;

	if (text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the table of foreign table \"%s\" has no index that is like \"%s\"",
						name, RelationGetRelationName(remote->index)),
				 errdetail("It takes a valid skipidx index with the same first column and condition."),
				 errhint("Create it on server \"%s\".",
						 to->server->servername)));
	old = MemoryContextSwitchTo(remote->context);
	skx_functions_add_ranking(remote->sum, skx_functions_read_ranking(text));
	MemoryContextSwitchTo(old);
}

/* Adds the rankings of a result. */
static void
skx_remote_add_all(SkxRemote *remote, const SkxRemoteServer *to)
{
	uint64		i;

	if (SPI_processed != list_length(to->tables))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("server \"%s\" did not return a ranking for each table",
						to->server->servername)));
	for (i = 0; i < SPI_processed; i++)
		skx_remote_add(remote, to, (int) i,
					   SPI_getvalue(SPI_tuptable->vals[i],
									SPI_tuptable->tupdesc, 1));
}

/* Notes by what name the server's extension is to be called. */
static void
skx_remote_note_schema(SkxRemote *remote, SkxRemoteServer *to)
{
	char	   *schema = SPI_processed != 1 ? NULL :
		SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);

	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"skipidx\" is not installed on server \"%s\"",
						to->server->servername),
				 errhint("CREATE EXTENSION skipidx there, in the database that the server names.")));
	to->schema = MemoryContextStrdup(remote->context, schema);
}

/* Receives a result that is there. */
static void
skx_remote_receive(SkxRemote *remote, SkxRemoteServer *to)
{
	Oid			type = TEXTOID;
	Datum		connection = CStringGetTextDatum(to->connection);

	if (SPI_execute_with_args(remote->get_result, 1, &type, &connection, NULL,
							  true, 0) != SPI_OK_SELECT)
		elog(ERROR, "dblink returned no result");
	switch (to->next++)
	{
		case SKX_REMOTE_SCHEMA:
			skx_remote_note_schema(remote, to);
			break;
		case SKX_REMOTE_FIRST_END:
			skx_remote_send(remote, to, skx_remote_statement(remote, to));
			break;
		case SKX_REMOTE_RANKINGS:
			skx_remote_add_all(remote, to);
			break;
		default:
			break;
	}
}

/* Receives what is there from a server.  Returns true if that is all. */
static bool
skx_remote_is_done(SkxRemote *remote, SkxRemoteServer *to)
{
	while (to->next < SKX_REMOTE_NRESULTS)
	{
		CHECK_FOR_INTERRUPTS();
		if (DatumGetInt32(FunctionCall1(&remote->is_busy,
										CStringGetTextDatum(to->connection))) != 0)
			return false;
		skx_remote_receive(remote, to);
	}
	return true;
}

/* Names the server in the context of an error. */
static void
skx_remote_error_context(void *arg)
{
	const SkxRemoteServer *const *to = arg;

	if (*to != NULL)
		errcontext("ranking of foreign tables on server \"%s\"",
				   (*to)->server->servername);
}

static void
skx_remote_sleep(int ms)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = skx_compat_wait_event("SkipidxRemoteRanking");
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 ms, wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Asks all servers, and adds what they answer to the sum. */
static void
skx_remote_ask(SkxRemote *remote)
{
	SkxRemoteServer *to = NULL;
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = skx_remote_error_context,
		.arg = &to
	};
	MemoryContext round = AllocSetContextCreate(CurrentMemoryContext,
												"skipidx answers of servers",
												ALLOCSET_SMALL_SIZES);
	MemoryContext old;
	int			ms = SKX_REMOTE_FIRST_MS;
	bool		done = false;
	ListCell   *lc;

	error_context_stack = &context;
	foreach(lc, remote->servers)
	{
		to = lfirst(lc);
		skx_remote_connect(remote, to);
	}
	old = CurrentMemoryContext;
	while (!done)
	{
		done = true;
		/* SPI leaves its own one as the current context */
		MemoryContextSwitchTo(round);
		foreach(lc, remote->servers)
		{
			to = lfirst(lc);
			done &= skx_remote_is_done(remote, to);
		}
		to = NULL;
		MemoryContextReset(round);
		if (!done)
			skx_remote_sleep(ms);
		ms = Min(ms + 1, SKX_REMOTE_LONGEST_MS);
	}
	MemoryContextSwitchTo(old);
	error_context_stack = context.previous;
}

/* Does that, and closes all connections, however it ends. */
static void
skx_remote_ask_and_close(SkxRemote *remote)
{
	PG_TRY();
	{
		skx_remote_ask(remote);
	}
	PG_CATCH();
	{
		skx_remote_disconnect(remote);
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_remote_disconnect(remote);
}

/* Raises an error if the rule is that no server is asked. */
static void
skx_remote_check_rule(Relation heap, SkxRemoteRule rule)
{
	if (rule == SKX_REMOTE_REFUSE_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has foreign partitions, which are not asked for the rows with a value",
						RelationGetRelationName(heap)),
				 errhint("Add the rankings that skipidx_ranking() makes on each server.")));
	if (rule == SKX_REMOTE_REFUSE_GROUPS)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has foreign partitions, which are not asked for groups of words",
						RelationGetRelationName(heap)),
				 errhint("Add the rankings that skipidx_ranking_of_groups() makes on each server.")));
	if (rule == SKX_REMOTE_REFUSE_ASKED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has foreign partitions itself, which are not asked for another server",
						RelationGetRelationName(heap)),
				 errdetail("The servers could be asking each other in a circle."),
				 errhint("Make foreign tables of these partitions on the server that asks.")));
}

void
skx_functions_add_remote(Relation heap, Relation index, TSQuery query,
						 SkxRemoteRule rule, SkxRanking *sum)
{
	SkxRemote	remote = {
		.heap = heap,
		.index = index,
		.query = query,
		.context = CurrentMemoryContext,
		.sum = sum
	};
	int			nest_level;

	if (!has_subclass(RelationGetRelid(heap)))
		return;
	/* for expressions that are compared as text, and for statements below */
	nest_level = NewGUCNestLevel();
	skx_compat_restrict_search_path(false);
	skx_remote_find_tables(&remote);
	if (remote.servers != NIL)
	{
		skx_remote_check_rule(heap, rule);
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "cannot connect to SPI");
		skx_remote_find_dblink(&remote);
		skx_remote_ask_and_close(&remote);
		SPI_finish();
	}
	AtEOXact_GUC(true, nest_level);
}
