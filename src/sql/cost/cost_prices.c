/*
 * cost_prices.c
 *	  Tells what reading a page costs, by the direction of reading.
 *
 * The planner has one price for pages in order and one for pages anywhere, and
 * uses the former for a backward scan, too.  But kernels and devices read
 * ahead forward only.  Page by page, backward reads cost as much as random
 * ones.  If the scan itself prefetches pages in its direction, their cost is
 * in between.
 *
 * Prices are means over reads from caches and from devices.  Those of the
 * server are, too: its default takes nine of ten random pages to be cached.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "index/snapshot/snapshot.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/scansup.h"
#include "sql/cost/cost.h"
#include "support/compat/compat.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

double		skx_cost_prices_forward = SKX_COST_PRICE_NONE;
double		skx_cost_prices_backward = SKX_COST_PRICE_NONE;
double		skx_cost_prices_random = SKX_COST_PRICE_NONE;

char	   *skx_cost_prices_setting;

/*
 * An entry of skipidx.tablespace_costs.  All of them are in the memory that
 * the server keeps for the setting.
 */
typedef struct SkxSpacePrices
{
	NameData	tablespace;
	SkxCostPrices prices;
} SkxSpacePrices;

typedef struct SkxSpaces
{
	int			n;
	SkxSpacePrices spaces[FLEXIBLE_ARRAY_MEMBER];
} SkxSpaces;

static SkxSpaces *skx_cost_prices_spaces;

/* Returns the first character from `at` on that is no blank. */
static const char *
skx_cost_prices_blank(const char *at)
{
	while (scanner_isspace(*at))
		at++;
	return at;
}

/*
 * Reads a name, which may be quoted, and the colon behind it.  Returns what
 * follows; NULL if there is no such name.
 */
static const char *
skx_cost_prices_name(const char *at, NameData *name)
{
	bool		quoted = *at == '"';
	int			n = 0;

	at += quoted;
	memset(name, 0, sizeof(*name));
	for (; *at != '\0'; at++)
	{
		if (quoted && *at == '"' && *++at != '"')
			break;
		if (!quoted && (*at == ':' || scanner_isspace(*at)))
			break;
		if (n == NAMEDATALEN - 1)
			return NULL;
		NameStr(*name)[n++] = quoted ? *at :
			(char) pg_tolower((unsigned char) *at);
	}
	at = skx_cost_prices_blank(at);
	return n > 0 && *at == ':' ? at + 1 : NULL;
}

/* Reads a price.  Returns what follows; NULL if there is none. */
static const char *
skx_cost_prices_number(const char *at, double *price)
{
	char	   *end;

	*price = strtod(at, &end);
	return end == at || !isfinite(*price) || *price < 0 ? NULL : end;
}

/*
 * Reads an entry "name: forward backward random", which ends with a semicolon
 * or with the text.  Returns what follows; NULL if it is not valid.
 */
static const char *
skx_cost_prices_entry(const char *at, SkxSpacePrices *space)
{
	at = skx_cost_prices_name(skx_cost_prices_blank(at), &space->tablespace);
	if (at != NULL)
		at = skx_cost_prices_number(at, &space->prices.forward);
	if (at != NULL)
		at = skx_cost_prices_number(at, &space->prices.backward);
	if (at != NULL)
		at = skx_cost_prices_number(at, &space->prices.random);
	if (at == NULL)
		return NULL;
	at = skx_cost_prices_blank(at);
	return *at == ';' ? at + 1 : *at == '\0' ? at : NULL;
}

bool
skx_cost_prices_check(char **value, void **extra, GucSource source)
{
	const char *at = *value;
	SkxSpaces  *spaces;
	int			most = 1;

	for (at = *value; *at != '\0'; at++)
		most += *at == ';';
	spaces = skx_compat_guc_malloc(offsetof(SkxSpaces, spaces) +
								   most * sizeof(SkxSpacePrices));
	if (spaces == NULL)
		return false;
	spaces->n = 0;
	for (at = skx_cost_prices_blank(*value); *at != '\0';
		 at = skx_cost_prices_blank(at))
	{
		at = skx_cost_prices_entry(at, &spaces->spaces[spaces->n]);
		if (at == NULL)
		{
			GUC_check_errdetail("Entry %d is not a tablespace's name, a colon, and its prices of a forward, a backward and a random read.",
								spaces->n + 1);
			GUC_check_errhint("For example: fast: 1 1.1 2; slow: 1 4 20");
			skx_compat_guc_free(spaces);
			return false;
		}
		spaces->n++;
	}
	*extra = spaces;
	return true;
}

void
skx_cost_prices_assign(const char *value, void *extra)
{
	skx_cost_prices_spaces = extra;
}

/* Returns the entry of the setting for a tablespace; NULL if it has none. */
static const SkxCostPrices *
skx_cost_prices_space(Oid tablespace)
{
	const SkxCostPrices *prices = NULL;
	HeapTuple	tuple;
	int			i;

	if (skx_cost_prices_spaces == NULL || skx_cost_prices_spaces->n == 0)
		return NULL;
	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	tuple = SearchSysCache1(TABLESPACEOID, ObjectIdGetDatum(tablespace));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	for (i = 0; i < skx_cost_prices_spaces->n; i++)
	{
		const SkxSpacePrices *space = &skx_cost_prices_spaces->spaces[i];

		if (strcmp(NameStr(space->tablespace),
				   NameStr(((Form_pg_tablespace) GETSTRUCT(tuple))->spcname)) == 0)
			prices = &space->prices;
	}
	ReleaseSysCache(tuple);
	return prices;
}

void
skx_cost_prices(Oid tablespace, SkxCostPrices *prices)
{
	const SkxCostPrices *set = skx_cost_prices_space(tablespace);

	if (set != NULL)
	{
		*prices = *set;
		return;
	}
	get_tablespace_page_costs(tablespace, &prices->random, &prices->forward);
	if (skx_cost_prices_forward >= 0)
		prices->forward = skx_cost_prices_forward;
	if (skx_cost_prices_random >= 0)
		prices->random = skx_cost_prices_random;
	prices->backward = prices->random;
	if (skx_cost_prices_backward >= 0)
		prices->backward = skx_cost_prices_backward;
	else if (skx_snapshot_heap_depth(tablespace) > 1)
		prices->backward = sqrt(prices->forward * prices->random);
}

/* Returns the name in the form that skx_cost_prices_name() reads. */
static const char *
skx_cost_prices_quote(const char *name)
{
	StringInfoData text;

	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
		return name;
	initStringInfo(&text);
	appendStringInfoChar(&text, '"');
	for (; *name != '\0'; name++)
	{
		if (*name == '"')
			appendStringInfoChar(&text, '"');
		appendStringInfoChar(&text, *name);
	}
	appendStringInfoChar(&text, '"');
	return text.data;
}

char *
skx_cost_prices_with(Oid tablespace, const SkxCostPrices *prices)
{
	char	   *name = get_tablespace_name(tablespace);
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; name != NULL && skx_cost_prices_spaces != NULL &&
		 i < skx_cost_prices_spaces->n; i++)
	{
		const SkxSpacePrices *space = &skx_cost_prices_spaces->spaces[i];

		if (strcmp(NameStr(space->tablespace), name) != 0)
			appendStringInfo(&text, "%s: %g %g %g; ",
							 skx_cost_prices_quote(NameStr(space->tablespace)),
							 space->prices.forward, space->prices.backward,
							 space->prices.random);
	}
	if (name != NULL)
		appendStringInfo(&text, "%s: %g %g %g", skx_cost_prices_quote(name),
						 prices->forward, prices->backward, prices->random);
	return text.data;
}

/*
 * The price of a page falls with the square root of the share that is read, as
 * the server's price of bitmap heap scans does (cost_bitmap_heap_scan() in
 * costsize.c).
 */
double
skx_cost_reading(double pages, double all, double ordered, double random)
{
	if (pages <= 0)
		return 0;
	pages = Min(pages, Max(all, 1));
	return pages * (random - (random - ordered) * sqrt(pages / Max(all, 1)));
}
