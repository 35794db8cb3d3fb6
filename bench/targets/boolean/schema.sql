-- schema.sql: where measurements are kept.  Unlogged: keeping one must cost
-- little beside what it measures.
CREATE UNLOGGED TABLE engine (
	name	text PRIMARY KEY,
	rank	int NOT NULL,		-- the order in which they are told
	few		boolean NOT NULL	-- measured less often
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
