/*
 * cost_prices.c
 *	  What reading a page costs, by the direction that it is read in.
 *
 * The planner has one price for pages in order and one for pages anywhere, and
 * takes a backward scan for one in order.  But kernels and devices read ahead
 * forward only: page by page, backward costs what random reads do.  Where the
 * scan itself asks for pages ahead, whichever way it goes, it is between.
 *
 * Prices are means over what caches answer and what devices do, as the server's
 * own are (its default takes nine of ten random pages to be cached).
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

/* Below 0: follows from what the server's settings say. */
double		skx_cost_prices_forward = SKX_COST_PRICE_NONE;
double		skx_cost_prices_backward = SKX_COST_PRICE_NONE;
double		skx_cost_prices_random = SKX_COST_PRICE_NONE;

char	   *skx_cost_prices_setting;

/* skipidx.tablespace_costs, as parsed; in the settings' memory */
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

/* Skips blanks. */
static const char *
skx_cost_prices_blank(const char *at)
{
	while (scanner_isspace(*at))
		at++;
	return at;
}

/*
 * A name, quoted where it has to be, and the colon behind it.  NULL: there is
 * none.
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

/* A price.  NULL: there is none. */
static const char *
skx_cost_prices_number(const char *at, double *price)
{
	char	   *end;

	*price = strtod(at, &end);
	return end == at || !isfinite(*price) || *price < 0 ? NULL : end;
}

/* "name: forward backward random", to a semicolon or the end. */
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

/* The setting's prices of a tablespace; NULL: it has none. */
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

/* As skx_cost_prices_name() reads it. */
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
 * Pages in order are taken at once; of few, each is as good as anywhere.
 * Between, the price falls with the root of the share that is read, as the
 * server has it for bitmaps (costsize.c, cost_bitmap_heap_scan).
 */
double
skx_cost_reading(double pages, double all, double ordered, double random)
{
	if (pages <= 0)
		return 0;
	pages = Min(pages, Max(all, 1));
	return pages * (random - (random - ordered) * sqrt(pages / Max(all, 1)));
}
