/*
 * client.c
 *	  Runs the statements of a file over sockets and prints how long each took,
 *	  since a client in Python takes longer than some statements do.
 *
 *	  client MODE CLIENTS PASSES SECONDS FILE
 *
 * MODE is kept, each client having its connections all the time, or fresh: a
 * connection for each statement, of which the statement alone is timed.  Lines
 * of the file begin with a letter and a space:
 *
 *	  D conninfo		a lane begins: a database, what follows is run there
 *	  S statement		is run first on each connection that is kept
 *	  P statement		is prepared on each connection
 *	  A values			to execute that with, tabs between them; empty for none
 *	  Q statement		to be sent as text
 *
 * All lanes have as many A or Q lines.  The statements of the same place in
 * all lanes are run one after the other, every second time backward.
 *
 * A client of kept connections first goes through all statements untimed, for
 * at most half of SECONDS if that is not 0.  As many as each client got
 * through are then timed, PASSES times, or until SECONDS are over after a
 * pass.
 * Client c of C begins at statement n * c / C.
 *
 * Prints a JSON object: n, and of each lane the times in us (a list a client,
 * in the order taken), and of each of its n statements the number of rows that
 * the first client had last, and a hash of all that they have.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LANES 4
#define MAX_CLIENTS 64
#define MAX_VALUES 16
#define MAX_SETUP 16

typedef struct Item
{
	char	   *text;			/* NULL: values are to execute with */
	int			nvalues;
	const char *values[MAX_VALUES];
} Item;

typedef struct Lane
{
	char	   *conninfo;
	char	   *prepared;		/* or NULL */
	int			nsetup;
	char	   *setup[MAX_SETUP];
	int			nitems;
	int			room;
	Item	   *items;
} Lane;

/* What a statement gave. */
typedef struct Answer
{
	long		rows;
	uint64_t	hash;
} Answer;

typedef struct Client
{
	int			number;
	int			n;				/* statements that it got through untimed */
	int			ntimes;			/* of each lane */
	PGconn	   *connections[MAX_LANES];
	double	   *us[MAX_LANES];
	Answer	   *answers[MAX_LANES];
} Client;

static Lane lanes[MAX_LANES];
static int	nlanes;
static Client clients[MAX_CLIENTS];
static int	nclients;
static int	npasses;
static double seconds;
static pthread_barrier_t barrier;

static void
fail(const char *what, const char *why)
{
	fprintf(stderr, "client: %s: %s\n", what, why);
	exit(1);
}

static void *
allocate(size_t size)
{
	void	   *memory = calloc(1, size);

	if (memory == NULL)
		fail("memory", "there is none");
	return memory;
}

static double
now(void)						/* in us */
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* ---- the file ---- */

static void
add_item(Lane *lane, bool is_text, char *line)
{
	Item	   *item;

	if (lane->nitems == lane->room)
	{
		lane->room = lane->room * 2 + 64;
		lane->items = realloc(lane->items, lane->room * sizeof(Item));
		if (lane->items == NULL)
			fail("memory", "there is none");
	}
	item = &lane->items[lane->nitems++];
	memset(item, 0, sizeof(Item));
	if (is_text)
	{
		item->text = line;
		return;
	}
	while (line != NULL && !(item->nvalues == 0 && *line == '\0'))
	{
		if (item->nvalues == MAX_VALUES)
			fail("file", "too many values");
		item->values[item->nvalues++] = strsep(&line, "\t");
	}
}

static void
add_line(char *line)
{
	Lane	   *lane = nlanes > 0 ? &lanes[nlanes - 1] : NULL;
	char		kind = line[0];

	if (kind == '\0' || line[1] != ' ' || (lane == NULL && kind != 'D'))
		fail("file", line);
	line += 2;
	if (kind == 'D' && nlanes < MAX_LANES)
		lanes[nlanes++].conninfo = line;
	else if (kind == 'S' && lane->nsetup < MAX_SETUP)
		lane->setup[lane->nsetup++] = line;
	else if (kind == 'P' && lane->prepared == NULL)
		lane->prepared = line;
	else if (kind == 'A' || kind == 'Q')
		add_item(lane, kind == 'Q', line);
	else
		fail("file", line - 2);
}

static void
read_file(const char *path)
{
	FILE	   *file = fopen(path, "r");
	char	   *line = NULL;
	size_t		room = 0;
	int			i;

	if (file == NULL)
		fail(path, "cannot be read");
	while (getline(&line, &room, file) > 0)
	{
		line[strcspn(line, "\n")] = '\0';
		add_line(line);
		line = NULL;			/* which is kept */
		room = 0;
	}
	fclose(file);
	for (i = 0; i < nlanes; i++)
		if (lanes[i].nitems == 0 || lanes[i].nitems != lanes[0].nitems)
			fail(path, "a lane has fewer statements");
	if (nlanes == 0)
		fail(path, "has no lane");
}

/* ---- statements ---- */

static void
be_quiet(void *nothing, const char *message)
{
	(void) nothing;
	(void) message;
}

static PGresult *
check(PGconn *connection, PGresult *result, const char *statement)
{
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		fail(statement, PQerrorMessage(connection));
	return result;
}

static PGconn *
connect_to(const char *conninfo)
{
	PGconn	   *connection = PQconnectdb(conninfo);

	if (PQstatus(connection) != CONNECTION_OK)
		fail(conninfo, PQerrorMessage(connection));
	PQsetNoticeProcessor(connection, be_quiet, NULL);
	return connection;
}

static PGconn *
begin_session(const Lane *lane)
{
	PGconn	   *connection = connect_to(lane->conninfo);
	int			i;

	for (i = 0; i < lane->nsetup; i++)
		PQclear(check(connection, PQexec(connection, lane->setup[i]),
					  lane->setup[i]));
	if (lane->prepared != NULL)
		PQclear(check(connection, PQprepare(connection, "p", lane->prepared, 0,
											NULL), lane->prepared));
	return connection;
}

/* FNV-1a of all values, an end behind each. */
static uint64_t
hash_of(const PGresult *result)
{
	uint64_t	hash = UINT64_C(14695981039346656037);
	int			row;
	int			column;
	const unsigned char *byte;

	for (row = 0; row < PQntuples(result); row++)
		for (column = 0; column < PQnfields(result); column++)
		{
			byte = (const unsigned char *) PQgetvalue(result, row, column);
			do
				hash = (hash ^ *byte) * UINT64_C(1099511628211);
			while (*byte++ != '\0');
		}
	return hash;
}

/* Returns how long it took, until the whole answer was there. */
static double
run_item(PGconn *connection, const Lane *lane, const Item *item,
		 Answer *answer)
{
	double		began = now();
	double		us;
	PGresult   *result;

	if (item->text != NULL)
		result = PQexec(connection, item->text);
	else
		result = PQexecPrepared(connection, "p", item->nvalues, item->values,
								NULL, NULL, 0);
	us = now() - began;
	check(connection, result,
		  item->text != NULL ? item->text : lane->prepared);
	answer->rows = PQntuples(result);
	answer->hash = hash_of(result);
	PQclear(result);
	return us;
}

/* ---- clients ---- */

/* Statement i of all lanes; `ntimes` of the client counts them. */
static void
run_all_lanes(Client *client, int i, bool timed)
{
	int			turn;

	for (turn = 0; turn < nlanes; turn++)
	{
		int			l = client->ntimes % 2 == 0 ? turn : nlanes - 1 - turn;
		double		us;

		us = run_item(client->connections[l], &lanes[l], &lanes[l].items[i],
					  &client->answers[l][i]);
		if (timed)
			client->us[l][client->ntimes] = us;
	}
	if (timed)
		client->ntimes++;
}

static int
least_n(void)
{
	int			n = clients[0].n;
	int			c;

	for (c = 1; c < nclients; c++)
		if (clients[c].n < n)
			n = clients[c].n;
	return n;
}

static void *
run_client(void *argument)
{
	Client	   *client = argument;
	double		began;
	int			pass;
	int			n;
	int			i;

	for (i = 0; i < nlanes; i++)
		client->connections[i] = begin_session(&lanes[i]);
	pthread_barrier_wait(&barrier);
	began = now();
	while (client->n < lanes[0].nitems &&
		   (client->n == 0 || seconds == 0 ||
			now() - began < seconds * 1e6 / 2))
		run_all_lanes(client, client->n++, false);
	pthread_barrier_wait(&barrier);
	n = least_n();
	for (pass = 0; pass < npasses; pass++)
	{
		if (pass > 0 && seconds > 0 && now() - began > seconds * 1e6)
			break;
		for (i = 0; i < n; i++)
			run_all_lanes(client, (int) ((i + (long) n * client->number /
										  nclients) % n), true);
	}
	for (i = 0; i < nlanes; i++)
		PQfinish(client->connections[i]);
	return NULL;
}

static void
run_fresh(Client *client)
{
	int			pass;
	int			i;
	int			l;

	client->n = lanes[0].nitems;
	for (pass = 0; pass < npasses; pass++)
		for (i = 0; i < client->n; i++)
		{
			for (l = 0; l < nlanes; l++)
				client->connections[l] = connect_to(lanes[l].conninfo);
			run_all_lanes(client, i, true);
			for (l = 0; l < nlanes; l++)
				PQfinish(client->connections[l]);
		}
}

static void
make_clients(void)
{
	int			c;
	int			l;

	for (c = 0; c < nclients; c++)
	{
		clients[c].number = c;
		for (l = 0; l < nlanes; l++)
		{
			clients[c].us[l] = allocate(sizeof(double) * npasses *
										lanes[l].nitems);
			clients[c].answers[l] = allocate(sizeof(Answer) *
											 lanes[l].nitems);
		}
	}
}

static void
run_kept(void)
{
	pthread_t	threads[MAX_CLIENTS];
	int			c;

	pthread_barrier_init(&barrier, NULL, nclients);
	for (c = 0; c < nclients; c++)
		if (pthread_create(&threads[c], NULL, run_client, &clients[c]) != 0)
			fail("threads", "cannot be made");
	for (c = 0; c < nclients; c++)
		pthread_join(threads[c], NULL);
}

/* ---- what is printed ---- */

static void
print_lane(int l, int n)
{
	int			c;
	int			i;

	printf("%s{\"us\": [", l > 0 ? ", " : "");
	for (c = 0; c < nclients; c++)
	{
		printf("%s[", c > 0 ? ", " : "");
		for (i = 0; i < clients[c].ntimes; i++)
			printf("%s%.1f", i > 0 ? ", " : "", clients[c].us[l][i]);
		printf("]");
	}
	printf("], \"rows\": [");
	for (i = 0; i < n; i++)
		printf("%s%ld", i > 0 ? ", " : "", clients[0].answers[l][i].rows);
	printf("], \"hashes\": [");
	for (i = 0; i < n; i++)
		printf("%s\"%016llx\"", i > 0 ? ", " : "",
			   (unsigned long long) clients[0].answers[l][i].hash);
	printf("]}");
}

int
main(int argc, char **argv)
{
	bool		fresh;
	int			l;

	if (argc != 6)
		fail("usage", "client MODE CLIENTS PASSES SECONDS FILE");
	fresh = strcmp(argv[1], "fresh") == 0;
	nclients = fresh ? 1 : atoi(argv[2]);
	npasses = atoi(argv[3]);
	seconds = atof(argv[4]);
	if (nclients < 1 || nclients > MAX_CLIENTS || npasses < 1 || seconds < 0)
		fail("usage", "a number is out of range");
	read_file(argv[5]);
	make_clients();
	if (fresh)
		run_fresh(&clients[0]);
	else
		run_kept();
	printf("{\"n\": %d, \"lanes\": [", least_n());
	for (l = 0; l < nlanes; l++)
		print_lane(l, least_n());
	printf("]}\n");
	return 0;
}
