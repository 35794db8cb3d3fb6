-- columns.sql: what the columns of docs are drawn by: hashes of the row's id,
-- so that they are the same everywhere.
CREATE FUNCTION drawn(id int, seed int) RETURNS float8	-- in [0, 1)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (hashint8extended(id, seed) & 1073741823) / 1073741824.0::float8;

-- When a row came: a few minutes after the one before it, on average.
CREATE FUNCTION arrival(id int) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN timestamptz 'epoch' + interval '300 seconds' * (id + drawn(id, 1) * 4);
