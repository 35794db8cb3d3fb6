-- schema.sql: where measurements are kept.  Unlogged: keeping one must cost
-- little beside what it measures.
CREATE EXTENSION IF NOT EXISTS pg_prewarm;

CREATE UNLOGGED TABLE staged (
	id		int,
	title	text,
	body	text
);

CREATE UNLOGGED TABLE engine (
	name	text PRIMARY KEY,
	rank	int NOT NULL,		-- the order in engines.conf
	few		boolean NOT NULL,	-- measured less often, see engines.conf
	clause	text NOT NULL		-- what follows USING
);

CREATE UNLOGGED TABLE build (
	engine			text,
	memory			text,		-- maintenance_work_mem
	round			int,
	seconds			float8,		-- CREATE INDEX, its commit included
	flush_seconds	float8,		-- the CHECKPOINT after it
	bytes			bigint,		-- pg_relation_size of all forks
	wal_bytes		bigint
);

CREATE UNLOGGED TABLE query (
	id		int PRIMARY KEY,	-- the order in which they run
	class	text NOT NULL,
	words	text NOT NULL,
	q		tsquery
);

CREATE UNLOGGED TABLE answer (	-- count(*) of the untimed first run
	query	int,
	engine	text,
	matches	bigint
);

CREATE UNLOGGED TABLE timing (	-- SELECT count(*) ... WHERE tsv @@ q
	query	int,
	engine	text,
	round	int,
	us		int
);

CREATE UNLOGGED TABLE node (	-- the Bitmap Index Scan of the same query
	query		int,
	engine		text,
	round		int,
	us			float8,			-- of the index scan alone
	rows		bigint,			-- what it handed over
	removed		bigint,			-- of those, removed by the heap recheck
	lossy		bigint,			-- lossy heap blocks
	hit			bigint,			-- blocks, of the whole statement
	read		bigint
);
