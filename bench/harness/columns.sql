-- columns.sql: what columns of docs are drawn by, in several targets: hashes of the row's id,
-- so that they are the same everywhere.
CREATE FUNCTION drawn(id int, seed int) RETURNS float8	-- in [0, 1)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (hashint8extended(id, seed) & 1073741823) / 1073741824.0::float8;

-- When a row came: a few minutes after the one before it, on average.
CREATE FUNCTION arrival(id int) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN timestamptz 'epoch' + interval '300 seconds' * (id + drawn(id, 1) * 4);

-- By Zipf's law, 1 to n: k has the share ln((k + 1) / k) / ln(n + 1).
CREATE FUNCTION zipf(n int, id int, seed int) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN least(n, floor(exp(drawn(id, seed) * ln((n + 1)::float8)))::int);

-- 0 to 8 of n, each once.
CREATE FUNCTION several(n int, id int, seed int) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT 't' || zipf(n, id, seed + k)
			 FROM generate_series(1, floor(drawn(id, seed) * 9)::int) k
			 ORDER BY 1);

-- Each level has a share of the rows: 1 half of them, 2 one in 10, 3 in 100,
-- 4 in 1,000, 5 in 10,000, 6 in 100,000; level 0 all the others.
CREATE FUNCTION level_of(share float8) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN share < .00001 THEN 6 WHEN share < .00011 THEN 5
	WHEN share < .00111 THEN 4 WHEN share < .01111 THEN 3
	WHEN share < .11111 THEN 2 WHEN share < .61111 THEN 1 ELSE 0 END;
