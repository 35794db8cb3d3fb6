/* skipidx--1.0dev.sql: what CREATE EXTENSION creates */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION skipidx" to load this file. \quit

--
-- The releases of library and script
--

-- Each script calls it with the release of the objects that it makes.
CREATE FUNCTION skx_requires(pg_catalog.text)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'skipidx_requires'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_requires(pg_catalog.text) IS
	'raises an error if the library is of an older release than this';

SELECT skx_requires('1.0dev'::pg_catalog.text);

CREATE FUNCTION skipidx_version()
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_version() IS
	'the release of the library; that of the objects of a database is in pg_extension';

--
-- The access method
--

CREATE FUNCTION skx_handler(pg_catalog.internal)
RETURNS pg_catalog.index_am_handler
AS 'MODULE_PATHNAME', 'skipidx_handler'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE ACCESS METHOD skipidx TYPE INDEX HANDLER skx_handler;

COMMENT ON ACCESS METHOD skipidx IS
	'full text, with other columns beside it, as block skip lists';

CREATE OPERATOR FAMILY tsvector_ops USING skipidx;

CREATE OPERATOR CLASS tsvector_ops
DEFAULT FOR TYPE pg_catalog.tsvector USING skipidx FAMILY tsvector_ops AS
	OPERATOR 1 pg_catalog.@@ (pg_catalog.tsvector, pg_catalog.tsquery),
	OPERATOR 2 pg_catalog.@@@ (pg_catalog.tsvector, pg_catalog.tsquery);

--
-- Columns beside the text: equality and its negation, of types that are compared
-- with each other, ranges where canonical forms ascend as values do, and the canonical
-- form of a value, which is what an index holds.
--

CREATE FUNCTION skx_canonical(pg_catalog.bool)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bool'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.int2)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.int4)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int4'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.int8)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int8'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.oid)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_oid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.float4)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_float4'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.float8)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_float8'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.numeric)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_numeric'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.money)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int8'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.date)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_date'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.timestamp)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.timestamptz)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int8'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.time)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_int8'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.text)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bytes'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.name)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_name'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.bpchar)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bpchar'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.bytea)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bytes'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.uuid)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.inet)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_inet'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.macaddr)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_macaddr'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.bit)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bit'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.varbit)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_bit'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_canonical(pg_catalog.anyenum)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_canonical_oid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_canonical(pg_catalog.text) IS
	'canonical form of a value: equal exactly where = says so';

--
-- Where a value is among those of another type, if values of the two have no
-- forms in common.
--

CREATE FUNCTION skx_place_date(pg_catalog.timestamptz, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_place_date_timestamptz'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_place_timestamp(pg_catalog.timestamptz, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_place_timestamp_timestamptz'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_place_timestamptz(pg_catalog.date, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_place_timestamptz_date'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_place_timestamptz(pg_catalog.timestamp, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_place_timestamptz_timestamp'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY bool_ops USING skipidx;

CREATE OPERATOR CLASS bool_ops
DEFAULT FOR TYPE pg_catalog.bool USING skipidx FAMILY bool_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.bool, pg_catalog.bool),
	OPERATOR 2 pg_catalog.<= (pg_catalog.bool, pg_catalog.bool),
	OPERATOR 3 pg_catalog.= (pg_catalog.bool, pg_catalog.bool),
	OPERATOR 8 pg_catalog.<> (pg_catalog.bool, pg_catalog.bool),
	OPERATOR 4 pg_catalog.>= (pg_catalog.bool, pg_catalog.bool),
	OPERATOR 5 pg_catalog.> (pg_catalog.bool, pg_catalog.bool),
	FUNCTION 1 (pg_catalog.bool) skx_canonical(pg_catalog.bool);

CREATE OPERATOR FAMILY integer_ops USING skipidx;

CREATE OPERATOR CLASS int2_ops
DEFAULT FOR TYPE pg_catalog.int2 USING skipidx FAMILY integer_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.int2, pg_catalog.int2),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int2, pg_catalog.int2),
	OPERATOR 3 pg_catalog.= (pg_catalog.int2, pg_catalog.int2),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int2, pg_catalog.int2),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int2, pg_catalog.int2),
	OPERATOR 5 pg_catalog.> (pg_catalog.int2, pg_catalog.int2),
	FUNCTION 1 (pg_catalog.int2) skx_canonical(pg_catalog.int2);

CREATE OPERATOR CLASS int4_ops
DEFAULT FOR TYPE pg_catalog.int4 USING skipidx FAMILY integer_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.int4, pg_catalog.int4),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int4, pg_catalog.int4),
	OPERATOR 3 pg_catalog.= (pg_catalog.int4, pg_catalog.int4),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int4, pg_catalog.int4),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int4, pg_catalog.int4),
	OPERATOR 5 pg_catalog.> (pg_catalog.int4, pg_catalog.int4),
	FUNCTION 1 (pg_catalog.int4) skx_canonical(pg_catalog.int4);

CREATE OPERATOR CLASS int8_ops
DEFAULT FOR TYPE pg_catalog.int8 USING skipidx FAMILY integer_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.int8, pg_catalog.int8),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int8, pg_catalog.int8),
	OPERATOR 3 pg_catalog.= (pg_catalog.int8, pg_catalog.int8),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int8, pg_catalog.int8),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int8, pg_catalog.int8),
	OPERATOR 5 pg_catalog.> (pg_catalog.int8, pg_catalog.int8),
	FUNCTION 1 (pg_catalog.int8) skx_canonical(pg_catalog.int8);

ALTER OPERATOR FAMILY integer_ops USING skipidx ADD
	OPERATOR 1 pg_catalog.< (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 3 pg_catalog.= (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 5 pg_catalog.> (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 1 pg_catalog.< (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 3 pg_catalog.= (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 5 pg_catalog.> (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 1 pg_catalog.< (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 3 pg_catalog.= (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 5 pg_catalog.> (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 1 pg_catalog.< (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 3 pg_catalog.= (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 5 pg_catalog.> (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 1 pg_catalog.< (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 3 pg_catalog.= (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 5 pg_catalog.> (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 1 pg_catalog.< (pg_catalog.int8, pg_catalog.int4),
	OPERATOR 2 pg_catalog.<= (pg_catalog.int8, pg_catalog.int4),
	OPERATOR 3 pg_catalog.= (pg_catalog.int8, pg_catalog.int4),
	OPERATOR 8 pg_catalog.<> (pg_catalog.int8, pg_catalog.int4),
	OPERATOR 4 pg_catalog.>= (pg_catalog.int8, pg_catalog.int4),
	OPERATOR 5 pg_catalog.> (pg_catalog.int8, pg_catalog.int4);

CREATE OPERATOR FAMILY oid_ops USING skipidx;

CREATE OPERATOR CLASS oid_ops
DEFAULT FOR TYPE pg_catalog.oid USING skipidx FAMILY oid_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.oid, pg_catalog.oid),
	OPERATOR 2 pg_catalog.<= (pg_catalog.oid, pg_catalog.oid),
	OPERATOR 3 pg_catalog.= (pg_catalog.oid, pg_catalog.oid),
	OPERATOR 8 pg_catalog.<> (pg_catalog.oid, pg_catalog.oid),
	OPERATOR 4 pg_catalog.>= (pg_catalog.oid, pg_catalog.oid),
	OPERATOR 5 pg_catalog.> (pg_catalog.oid, pg_catalog.oid),
	FUNCTION 1 (pg_catalog.oid) skx_canonical(pg_catalog.oid);

CREATE OPERATOR FAMILY float_ops USING skipidx;

CREATE OPERATOR CLASS float4_ops
DEFAULT FOR TYPE pg_catalog.float4 USING skipidx FAMILY float_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.float4, pg_catalog.float4),
	OPERATOR 2 pg_catalog.<= (pg_catalog.float4, pg_catalog.float4),
	OPERATOR 3 pg_catalog.= (pg_catalog.float4, pg_catalog.float4),
	OPERATOR 8 pg_catalog.<> (pg_catalog.float4, pg_catalog.float4),
	OPERATOR 4 pg_catalog.>= (pg_catalog.float4, pg_catalog.float4),
	OPERATOR 5 pg_catalog.> (pg_catalog.float4, pg_catalog.float4),
	FUNCTION 1 (pg_catalog.float4) skx_canonical(pg_catalog.float4);

CREATE OPERATOR CLASS float8_ops
DEFAULT FOR TYPE pg_catalog.float8 USING skipidx FAMILY float_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.float8, pg_catalog.float8),
	OPERATOR 2 pg_catalog.<= (pg_catalog.float8, pg_catalog.float8),
	OPERATOR 3 pg_catalog.= (pg_catalog.float8, pg_catalog.float8),
	OPERATOR 8 pg_catalog.<> (pg_catalog.float8, pg_catalog.float8),
	OPERATOR 4 pg_catalog.>= (pg_catalog.float8, pg_catalog.float8),
	OPERATOR 5 pg_catalog.> (pg_catalog.float8, pg_catalog.float8),
	FUNCTION 1 (pg_catalog.float8) skx_canonical(pg_catalog.float8);

ALTER OPERATOR FAMILY float_ops USING skipidx ADD
	OPERATOR 1 pg_catalog.< (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 2 pg_catalog.<= (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 3 pg_catalog.= (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 8 pg_catalog.<> (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 4 pg_catalog.>= (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 5 pg_catalog.> (pg_catalog.float4, pg_catalog.float8),
	OPERATOR 1 pg_catalog.< (pg_catalog.float8, pg_catalog.float4),
	OPERATOR 2 pg_catalog.<= (pg_catalog.float8, pg_catalog.float4),
	OPERATOR 3 pg_catalog.= (pg_catalog.float8, pg_catalog.float4),
	OPERATOR 8 pg_catalog.<> (pg_catalog.float8, pg_catalog.float4),
	OPERATOR 4 pg_catalog.>= (pg_catalog.float8, pg_catalog.float4),
	OPERATOR 5 pg_catalog.> (pg_catalog.float8, pg_catalog.float4);

CREATE OPERATOR FAMILY numeric_ops USING skipidx;

CREATE OPERATOR CLASS numeric_ops
DEFAULT FOR TYPE pg_catalog.numeric USING skipidx FAMILY numeric_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.numeric, pg_catalog.numeric),
	OPERATOR 2 pg_catalog.<= (pg_catalog.numeric, pg_catalog.numeric),
	OPERATOR 3 pg_catalog.= (pg_catalog.numeric, pg_catalog.numeric),
	OPERATOR 8 pg_catalog.<> (pg_catalog.numeric, pg_catalog.numeric),
	OPERATOR 4 pg_catalog.>= (pg_catalog.numeric, pg_catalog.numeric),
	OPERATOR 5 pg_catalog.> (pg_catalog.numeric, pg_catalog.numeric),
	FUNCTION 1 (pg_catalog.numeric) skx_canonical(pg_catalog.numeric);

CREATE OPERATOR FAMILY money_ops USING skipidx;

CREATE OPERATOR CLASS money_ops
DEFAULT FOR TYPE pg_catalog.money USING skipidx FAMILY money_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.money, pg_catalog.money),
	OPERATOR 2 pg_catalog.<= (pg_catalog.money, pg_catalog.money),
	OPERATOR 3 pg_catalog.= (pg_catalog.money, pg_catalog.money),
	OPERATOR 8 pg_catalog.<> (pg_catalog.money, pg_catalog.money),
	OPERATOR 4 pg_catalog.>= (pg_catalog.money, pg_catalog.money),
	OPERATOR 5 pg_catalog.> (pg_catalog.money, pg_catalog.money),
	FUNCTION 1 (pg_catalog.money) skx_canonical(pg_catalog.money);

CREATE OPERATOR FAMILY datetime_ops USING skipidx;

CREATE OPERATOR CLASS date_ops
DEFAULT FOR TYPE pg_catalog.date USING skipidx FAMILY datetime_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.date, pg_catalog.date),
	OPERATOR 2 pg_catalog.<= (pg_catalog.date, pg_catalog.date),
	OPERATOR 3 pg_catalog.= (pg_catalog.date, pg_catalog.date),
	OPERATOR 8 pg_catalog.<> (pg_catalog.date, pg_catalog.date),
	OPERATOR 4 pg_catalog.>= (pg_catalog.date, pg_catalog.date),
	OPERATOR 5 pg_catalog.> (pg_catalog.date, pg_catalog.date),
	FUNCTION 1 (pg_catalog.date) skx_canonical(pg_catalog.date);

CREATE OPERATOR CLASS timestamp_ops
DEFAULT FOR TYPE pg_catalog.timestamp USING skipidx FAMILY datetime_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamp, pg_catalog.timestamp),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamp, pg_catalog.timestamp),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamp, pg_catalog.timestamp),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamp, pg_catalog.timestamp),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamp, pg_catalog.timestamp),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamp, pg_catalog.timestamp),
	FUNCTION 1 (pg_catalog.timestamp) skx_canonical(pg_catalog.timestamp);

ALTER OPERATOR FAMILY datetime_ops USING skipidx ADD
	OPERATOR 1 pg_catalog.< (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 2 pg_catalog.<= (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 3 pg_catalog.= (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 8 pg_catalog.<> (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 4 pg_catalog.>= (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 5 pg_catalog.> (pg_catalog.date, pg_catalog.timestamp),
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamp, pg_catalog.date),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamp, pg_catalog.date),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamp, pg_catalog.date),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamp, pg_catalog.date),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamp, pg_catalog.date),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamp, pg_catalog.date);

-- These depend on the session's time zone.
ALTER OPERATOR FAMILY datetime_ops USING skipidx ADD
	OPERATOR 1 pg_catalog.< (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 2 pg_catalog.<= (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 3 pg_catalog.= (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 8 pg_catalog.<> (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 4 pg_catalog.>= (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 5 pg_catalog.> (pg_catalog.date, pg_catalog.timestamptz),
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamp, pg_catalog.timestamptz),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamp, pg_catalog.timestamptz),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamp, pg_catalog.timestamptz),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamp, pg_catalog.timestamptz),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamp, pg_catalog.timestamptz),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamp, pg_catalog.timestamptz),
	FUNCTION 2 (pg_catalog.date, pg_catalog.timestamptz) skx_place_date(pg_catalog.timestamptz, pg_catalog.internal),
	FUNCTION 2 (pg_catalog.timestamp, pg_catalog.timestamptz) skx_place_timestamp(pg_catalog.timestamptz, pg_catalog.internal);

CREATE OPERATOR FAMILY timestamptz_ops USING skipidx;

CREATE OPERATOR CLASS timestamptz_ops
DEFAULT FOR TYPE pg_catalog.timestamptz USING skipidx FAMILY timestamptz_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamptz, pg_catalog.timestamptz),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamptz, pg_catalog.timestamptz),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamptz, pg_catalog.timestamptz),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamptz, pg_catalog.timestamptz),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamptz, pg_catalog.timestamptz),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamptz, pg_catalog.timestamptz),
	FUNCTION 1 (pg_catalog.timestamptz) skx_canonical(pg_catalog.timestamptz);

ALTER OPERATOR FAMILY timestamptz_ops USING skipidx ADD
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamptz, pg_catalog.date),
	OPERATOR 1 pg_catalog.< (pg_catalog.timestamptz, pg_catalog.timestamp),
	OPERATOR 2 pg_catalog.<= (pg_catalog.timestamptz, pg_catalog.timestamp),
	OPERATOR 3 pg_catalog.= (pg_catalog.timestamptz, pg_catalog.timestamp),
	OPERATOR 8 pg_catalog.<> (pg_catalog.timestamptz, pg_catalog.timestamp),
	OPERATOR 4 pg_catalog.>= (pg_catalog.timestamptz, pg_catalog.timestamp),
	OPERATOR 5 pg_catalog.> (pg_catalog.timestamptz, pg_catalog.timestamp),
	FUNCTION 2 (pg_catalog.timestamptz, pg_catalog.date) skx_place_timestamptz(pg_catalog.date, pg_catalog.internal),
	FUNCTION 2 (pg_catalog.timestamptz, pg_catalog.timestamp) skx_place_timestamptz(pg_catalog.timestamp, pg_catalog.internal);

CREATE OPERATOR FAMILY time_ops USING skipidx;

CREATE OPERATOR CLASS time_ops
DEFAULT FOR TYPE pg_catalog.time USING skipidx FAMILY time_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.time, pg_catalog.time),
	OPERATOR 2 pg_catalog.<= (pg_catalog.time, pg_catalog.time),
	OPERATOR 3 pg_catalog.= (pg_catalog.time, pg_catalog.time),
	OPERATOR 8 pg_catalog.<> (pg_catalog.time, pg_catalog.time),
	OPERATOR 4 pg_catalog.>= (pg_catalog.time, pg_catalog.time),
	OPERATOR 5 pg_catalog.> (pg_catalog.time, pg_catalog.time),
	FUNCTION 1 (pg_catalog.time) skx_canonical(pg_catalog.time);

CREATE OPERATOR FAMILY text_ops USING skipidx;

CREATE OPERATOR CLASS text_ops
DEFAULT FOR TYPE pg_catalog.text USING skipidx FAMILY text_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.text, pg_catalog.text),
	OPERATOR 8 pg_catalog.<> (pg_catalog.text, pg_catalog.text),
	FUNCTION 1 (pg_catalog.text) skx_canonical(pg_catalog.text);

CREATE OPERATOR CLASS name_ops
DEFAULT FOR TYPE pg_catalog.name USING skipidx FAMILY text_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.name, pg_catalog.name),
	OPERATOR 8 pg_catalog.<> (pg_catalog.name, pg_catalog.name),
	FUNCTION 1 (pg_catalog.name) skx_canonical(pg_catalog.name);

ALTER OPERATOR FAMILY text_ops USING skipidx ADD
	OPERATOR 3 pg_catalog.= (pg_catalog.text, pg_catalog.name),
	OPERATOR 8 pg_catalog.<> (pg_catalog.text, pg_catalog.name),
	OPERATOR 3 pg_catalog.= (pg_catalog.name, pg_catalog.text),
	OPERATOR 8 pg_catalog.<> (pg_catalog.name, pg_catalog.text);

CREATE OPERATOR FAMILY bpchar_ops USING skipidx;

CREATE OPERATOR CLASS bpchar_ops
DEFAULT FOR TYPE pg_catalog.bpchar USING skipidx FAMILY bpchar_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.bpchar, pg_catalog.bpchar),
	OPERATOR 8 pg_catalog.<> (pg_catalog.bpchar, pg_catalog.bpchar),
	FUNCTION 1 (pg_catalog.bpchar) skx_canonical(pg_catalog.bpchar);

CREATE OPERATOR FAMILY bytea_ops USING skipidx;

CREATE OPERATOR CLASS bytea_ops
DEFAULT FOR TYPE pg_catalog.bytea USING skipidx FAMILY bytea_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.bytea, pg_catalog.bytea),
	OPERATOR 8 pg_catalog.<> (pg_catalog.bytea, pg_catalog.bytea),
	FUNCTION 1 (pg_catalog.bytea) skx_canonical(pg_catalog.bytea);

CREATE OPERATOR FAMILY uuid_ops USING skipidx;

CREATE OPERATOR CLASS uuid_ops
DEFAULT FOR TYPE pg_catalog.uuid USING skipidx FAMILY uuid_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.uuid, pg_catalog.uuid),
	OPERATOR 2 pg_catalog.<= (pg_catalog.uuid, pg_catalog.uuid),
	OPERATOR 3 pg_catalog.= (pg_catalog.uuid, pg_catalog.uuid),
	OPERATOR 8 pg_catalog.<> (pg_catalog.uuid, pg_catalog.uuid),
	OPERATOR 4 pg_catalog.>= (pg_catalog.uuid, pg_catalog.uuid),
	OPERATOR 5 pg_catalog.> (pg_catalog.uuid, pg_catalog.uuid),
	FUNCTION 1 (pg_catalog.uuid) skx_canonical(pg_catalog.uuid);

CREATE OPERATOR FAMILY network_ops USING skipidx;

CREATE OPERATOR CLASS inet_ops
DEFAULT FOR TYPE pg_catalog.inet USING skipidx FAMILY network_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.inet, pg_catalog.inet),
	OPERATOR 8 pg_catalog.<> (pg_catalog.inet, pg_catalog.inet),
	FUNCTION 1 (pg_catalog.inet) skx_canonical(pg_catalog.inet);

CREATE OPERATOR FAMILY macaddr_ops USING skipidx;

CREATE OPERATOR CLASS macaddr_ops
DEFAULT FOR TYPE pg_catalog.macaddr USING skipidx FAMILY macaddr_ops AS
	OPERATOR 1 pg_catalog.< (pg_catalog.macaddr, pg_catalog.macaddr),
	OPERATOR 2 pg_catalog.<= (pg_catalog.macaddr, pg_catalog.macaddr),
	OPERATOR 3 pg_catalog.= (pg_catalog.macaddr, pg_catalog.macaddr),
	OPERATOR 8 pg_catalog.<> (pg_catalog.macaddr, pg_catalog.macaddr),
	OPERATOR 4 pg_catalog.>= (pg_catalog.macaddr, pg_catalog.macaddr),
	OPERATOR 5 pg_catalog.> (pg_catalog.macaddr, pg_catalog.macaddr),
	FUNCTION 1 (pg_catalog.macaddr) skx_canonical(pg_catalog.macaddr);

CREATE OPERATOR FAMILY bit_ops USING skipidx;

CREATE OPERATOR CLASS bit_ops
DEFAULT FOR TYPE pg_catalog.bit USING skipidx FAMILY bit_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.bit, pg_catalog.bit),
	OPERATOR 8 pg_catalog.<> (pg_catalog.bit, pg_catalog.bit),
	FUNCTION 1 (pg_catalog.bit) skx_canonical(pg_catalog.bit);

CREATE OPERATOR FAMILY varbit_ops USING skipidx;

CREATE OPERATOR CLASS varbit_ops
DEFAULT FOR TYPE pg_catalog.varbit USING skipidx FAMILY varbit_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.varbit, pg_catalog.varbit),
	OPERATOR 8 pg_catalog.<> (pg_catalog.varbit, pg_catalog.varbit),
	FUNCTION 1 (pg_catalog.varbit) skx_canonical(pg_catalog.varbit);

CREATE OPERATOR FAMILY enum_ops USING skipidx;

CREATE OPERATOR CLASS anyenum_ops
DEFAULT FOR TYPE pg_catalog.anyenum USING skipidx FAMILY enum_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.anyenum, pg_catalog.anyenum),
	OPERATOR 8 pg_catalog.<> (pg_catalog.anyenum, pg_catalog.anyenum),
	FUNCTION 1 (pg_catalog.anyenum) skx_canonical(pg_catalog.anyenum);

-- Elements are values of the default operator class of their type.
-- The planner writes `a !&& b` in place of `NOT (a && b)`, which is no operator.
CREATE FUNCTION skx_disjoint(pg_catalog.anyarray, pg_catalog.anyarray)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'skipidx_disjoint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_disjoint(pg_catalog.anyarray, pg_catalog.anyarray) IS
	'implementation of !&& operator';

CREATE OPERATOR !&& (
	LEFTARG = pg_catalog.anyarray,
	RIGHTARG = pg_catalog.anyarray,
	FUNCTION = skx_disjoint,
	COMMUTATOR = !&&,
	RESTRICT = pg_catalog.neqsel,
	JOIN = pg_catalog.neqjoinsel);

COMMENT ON OPERATOR !&& (pg_catalog.anyarray, pg_catalog.anyarray) IS
	'have no element in common';

CREATE OPERATOR FAMILY array_ops USING skipidx;

CREATE OPERATOR CLASS array_ops
DEFAULT FOR TYPE pg_catalog.anyarray USING skipidx FAMILY array_ops AS
	OPERATOR 3 pg_catalog.= (pg_catalog.anyarray, pg_catalog.anyarray),
	OPERATOR 6 pg_catalog.&& (pg_catalog.anyarray, pg_catalog.anyarray),
	OPERATOR 7 pg_catalog.@> (pg_catalog.anyarray, pg_catalog.anyarray),
	OPERATOR 9 !&& (pg_catalog.anyarray, pg_catalog.anyarray);

-- Classes of types that are refused: CREATE INDEX then says what to write, where
-- without them it would ask for an operator class.
CREATE OPERATOR CLASS json_ops
DEFAULT FOR TYPE pg_catalog.json USING skipidx AS
	STORAGE pg_catalog.json;

CREATE OPERATOR CLASS jsonb_ops
DEFAULT FOR TYPE pg_catalog.jsonb USING skipidx AS
	STORAGE pg_catalog.jsonb;

--
-- A look at an index, and at what reading it cost.  Counts change under the
-- functions, hence VOLATILE; they are those of this backend or need its
-- temporary buffers, hence not PARALLEL SAFE.  What may run the expressions of an
-- index is PARALLEL UNSAFE, as these may be.
--

CREATE FUNCTION skipidx_stats(
	index pg_catalog.regclass,
	OUT block_size pg_catalog.int4,
	OUT format_version pg_catalog.int4,
	OUT generation pg_catalog.int8,
	OUT ndocs pg_catalog.int8,
	OUT deleted pg_catalog.int8,
	OUT null_docs pg_catalog.int8,
	OUT cut_docs pg_catalog.int8,
	OUT total_length pg_catalog.int8,
	OUT avg_length pg_catalog.float8,
	OUT terms pg_catalog.int8,
	OUT postings pg_catalog.int8,
	OUT positions pg_catalog.int8,
	OUT segments pg_catalog.int4,
	OUT pending_docs pg_catalog.int8,
	OUT pending_dead pg_catalog.int8,
	OUT pending_bytes pg_catalog.int8,
	OUT pending_pages pg_catalog.int8,
	OUT stripes pg_catalog.int4,
	OUT free_extents pg_catalog.int4,
	OUT file_pages pg_catalog.int8,
	OUT free_pages pg_catalog.int8,
	OUT waiting_pages pg_catalog.int8,
	OUT reserved_pages pg_catalog.int8)
RETURNS pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_stats(pg_catalog.regclass) IS
	'totals of a skipidx index';

CREATE FUNCTION skipidx_segments(
	index pg_catalog.regclass,
	OUT kind pg_catalog.text,
	OUT segment pg_catalog.int8,
	OUT level pg_catalog.int4,
	OUT ndocs pg_catalog.int8,
	OUT deleted pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT bytes pg_catalog.int8,
	OUT waiting_for pg_catalog.xid8,
	OUT null_docs pg_catalog.int8,
	OUT terms pg_catalog.int8,
	OUT postings pg_catalog.int8,
	OUT positions pg_catalog.int8,
	OUT total_length pg_catalog.int8,
	OUT block_size pg_catalog.int4,
	OUT tid_pages pg_catalog.int8,
	OUT norm_pages pg_catalog.int8,
	OUT key_pages pg_catalog.int8,
	OUT dict_pages pg_catalog.int8,
	OUT posting_pages pg_catalog.int8,
	OUT position_pages pg_catalog.int8,
	OUT delete_pages pg_catalog.int8,
	OUT prefix_dict_pages pg_catalog.int8,
	OUT prefix_posting_pages pg_catalog.int8,
	OUT prefixes pg_catalog.int8,
	OUT prefix_postings pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_segments(pg_catalog.regclass) IS
	'parts of a skipidx index: segments, largest first, and what other pages are for';

-- What skipidx_io and skipidx_io_methods return; the first has no method.
CREATE TYPE skipidx_io_counts AS (
	scope pg_catalog.text,
	method pg_catalog.text,
	pins pg_catalog.int8,
	hits pg_catalog.int8,
	loads pg_catalog.int8,
	requests pg_catalog.int8,
	pages_read pg_catalog.int8,
	resident pg_catalog.int8,
	batches pg_catalog.int8,
	depth_sum pg_catalog.int8,
	waits pg_catalog.int8,
	queue_waits pg_catalog.int8,
	ahead pg_catalog.int8,
	ahead_used pg_catalog.int8,
	rounds pg_catalog.int8);

COMMENT ON TYPE skipidx_io_counts IS
	'counts of reads of skipidx segments';

CREATE FUNCTION skipidx_io_totals()
RETURNS SETOF skipidx_io_counts
AS 'MODULE_PATHNAME', 'skipidx_io'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_io_totals() IS
	'reads of skipidx segments, by this session and in total';

CREATE FUNCTION skipidx_io_methods()
RETURNS SETOF skipidx_io_counts
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_io_methods() IS
	'reads of skipidx segments by method, by this session and in total';

-- Qualified, because it may be used under any search path.
CREATE VIEW skipidx_io AS
	SELECT method, requests,
		pages_read OPERATOR(pg_catalog.*)
			pg_catalog.current_setting('block_size')::pg_catalog.int8 AS bytes,
		batches,
		pg_catalog.round(depth_sum::pg_catalog.numeric
			OPERATOR(pg_catalog./) NULLIF(requests, 0)::pg_catalog.numeric,
			2) AS mean_depth,
		waits, queue_waits,
		hits AS cache_hits,
		loads AS cache_misses,
		resident, ahead, ahead_used
	FROM skipidx_io_methods()
	WHERE scope OPERATOR(pg_catalog.=) 'total'::pg_catalog.text;

COMMENT ON VIEW skipidx_io IS
	'reads of skipidx segments by method since the server started';

GRANT SELECT ON skipidx_io TO PUBLIC;

CREATE FUNCTION skipidx_cache(
	OUT bytes pg_catalog.int8,
	OUT frames pg_catalog.int8,
	OUT frames_used pg_catalog.int8,
	OUT pinned pg_catalog.int8,
	OUT evictions pg_catalog.int8,
	OUT reads_under_way pg_catalog.int8,
	OUT reads_queued pg_catalog.int8,
	OUT configured pg_catalog.int8,
	OUT taken pg_catalog.int8,
	OUT limited_by pg_catalog.text,
	OUT prewarmed pg_catalog.int8)
RETURNS pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_cache() IS
	'state of the block cache of skipidx';

CREATE FUNCTION skipidx_settings(
	OUT name pg_catalog.text,
	OUT configured pg_catalog.text,
	OUT in_force pg_catalog.text,
	OUT reason pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_settings() IS
	'settings of skipidx that depend on the machine: as configured, as in force, and why';

CREATE FUNCTION skipidx_cache_indexes(
	OUT index pg_catalog.regclass,
	OUT block_frames pg_catalog.int8,
	OUT page_frames pg_catalog.int8,
	OUT bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_cache_indexes() IS
	'what the block cache of skipidx holds of each index; NULL: of all that the user may not see, of other databases and dropped indexes';

CREATE FUNCTION skipidx_cache_reset()
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_cache_reset() IS
	'empties the block cache of skipidx; returns how many frames it drops';

REVOKE ALL ON FUNCTION skipidx_cache_reset() FROM PUBLIC;

CREATE FUNCTION skipidx_prewarm(
	index pg_catalog.regclass)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_prewarm(pg_catalog.regclass) IS
	'reads a skipidx index into memory as far as there is room; returns how many pages';

CREATE FUNCTION skipidx_calibrate(
	tablespace pg_catalog.name DEFAULT NULL,
	cached pg_catalog.float8 DEFAULT 0.9,
	megabytes pg_catalog.int4 DEFAULT 256,
	seconds pg_catalog.float8 DEFAULT 0.25,
	OUT pattern pg_catalog.text,
	OUT io pg_catalog.text,
	OUT depth pg_catalog.int4,
	OUT us pg_catalog.float8,
	OUT price pg_catalog.float8,
	OUT command pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_calibrate(pg_catalog.name, pg_catalog.float8,
	pg_catalog.int4, pg_catalog.float8) IS
	'measures forward, backward and random reads on the device of a tablespace, and what to set for the planner to know';

REVOKE ALL ON FUNCTION skipidx_calibrate(pg_catalog.name, pg_catalog.float8,
	pg_catalog.int4, pg_catalog.float8) FROM PUBLIC;

CREATE FUNCTION skipidx_work(
	OUT nodes pg_catalog.int8,
	OUT node_pages pg_catalog.int8,
	OUT node_tables pg_catalog.int8,
	OUT subblocks pg_catalog.int8,
	OUT windows_filled pg_catalog.int8,
	OUT positions pg_catalog.int8,
	OUT candidates pg_catalog.int8,
	OUT prefetched pg_catalog.int8,
	OUT heap_prefetched pg_catalog.int8,
	OUT keys_tested pg_catalog.int8,
	OUT pending_read pg_catalog.int8,
	OUT dead_met pg_catalog.int8)
RETURNS pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_work() IS
	'work done by skipidx queries of this session: nodes of posting lists, pages and tables of these, sub-blocks and windows decoded, position blocks, documents asked about, blocks of index and table read ahead, keys compared, pending documents read, dead rows met';

CREATE FUNCTION skipidx_check(
	index pg_catalog.regclass,
	heapallindexed pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_check(pg_catalog.regclass, pg_catalog.bool) IS
	'verifies a skipidx index; an error tells the first damage found';

CREATE FUNCTION skipidx_page(
	index pg_catalog.regclass,
	block pg_catalog.int8,
	OUT field pg_catalog.text,
	OUT value pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_page(pg_catalog.regclass, pg_catalog.int8) IS
	'shows what a page of a skipidx index says of itself, damaged or not';

--
-- Maintenance by hand; VACUUM does both, as far as it is worth it.
--

CREATE FUNCTION skipidx_flush(
	index pg_catalog.regclass)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_flush(pg_catalog.regclass) IS
	'moves all pending documents of a skipidx index into segments; returns how many';

CREATE FUNCTION skipidx_merge(
	index pg_catalog.regclass,
	max_segments pg_catalog.int4 DEFAULT 1)
RETURNS pg_catalog.int4
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_merge(pg_catalog.regclass, pg_catalog.int4) IS
	'merges segments of a skipidx index until at most so many are left; returns how many';

CREATE FUNCTION skx_merges(
	OUT database pg_catalog.oid,
	OUT index pg_catalog.regclass,
	OUT operation pg_catalog.text,
	OUT asked_by pg_catalog.text,
	OUT state pg_catalog.text,
	OUT pid pg_catalog.int4,
	OUT started pg_catalog.timestamptz,
	OUT seconds pg_catalog.float8,
	OUT segments pg_catalog.int4,
	OUT documents pg_catalog.int8,
	OUT bytes_read pg_catalog.int8,
	OUT bytes_written pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT phase pg_catalog.text,
	OUT done pg_catalog.int8,
	OUT total pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'skipidx_merges'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION skx_merges() IS
	'flushes and merges of skipidx indexes that the user may see, running and the last to end; of others that they run';

CREATE VIEW skipidx_merges AS
	SELECT d.datname AS database, m.index, m.operation, m.asked_by, m.state,
		m.pid, m.started, m.seconds, m.segments, m.documents, m.bytes_read,
		m.bytes_written, m.wal_bytes, m.phase, m.done, m.total
	FROM skx_merges() AS m LEFT JOIN pg_catalog.pg_database AS d
		ON d.oid OPERATOR(pg_catalog.=) m.database;

COMMENT ON VIEW skipidx_merges IS
	'flushes and merges of skipidx indexes that the user may see, running and the last to end; of others that they run';

GRANT SELECT ON skipidx_merges TO PUBLIC;

--
-- A ranking: the words of a query, their statistics and the parameters, which are
-- all that a score depends on.
--

CREATE TYPE skipidx_ranking;

CREATE FUNCTION skx_ranking_in(pg_catalog.cstring)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_ranking_out(skipidx_ranking)
RETURNS pg_catalog.cstring
AS 'MODULE_PATHNAME', 'skipidx_ranking_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_ranking_recv(pg_catalog.internal)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_ranking_send(skipidx_ranking)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'skipidx_ranking_send'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE skipidx_ranking (
	INPUT = skx_ranking_in,
	OUTPUT = skx_ranking_out,
	RECEIVE = skx_ranking_recv,
	SEND = skx_ranking_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = pg_catalog.int4,
	STORAGE = extended);

COMMENT ON TYPE skipidx_ranking IS
	'all that a score depends on: words, their statistics, parameters';

CREATE FUNCTION skipidx_ranking(
	index pg_catalog.regclass,
	query pg_catalog.tsquery)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_ranking(pg_catalog.regclass, pg_catalog.tsquery) IS
	'a query to rank by, with the statistics and parameters of a skipidx index';

-- Asks other servers, by commands that see what is committed there.
CREATE FUNCTION skipidx_ranking_of_shards(
	index pg_catalog.regclass,
	query pg_catalog.tsquery)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION skipidx_ranking_of_shards(pg_catalog.regclass, pg_catalog.tsquery) IS
	'a query to rank by, with the statistics of all shards of a table that Citus distributes';

-- What the server of a foreign partition is asked.
CREATE FUNCTION skx_ranking_here(pg_catalog.regclass, pg_catalog.tsquery)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_here'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION skipidx_ranking(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	column_name pg_catalog.text,
	value pg_catalog.anyelement)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_among'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_ranking(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.anyelement) IS
	'the same, with the statistics of the rows that have a value in a column of the index';

CREATE FUNCTION skipidx_ranking(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	column_name pg_catalog.text,
	value pg_catalog.text)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_among'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_ranking(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.text) IS
	'the same, with the value as text, whatever the type of the column';

CREATE FUNCTION skipidx_ranking_of_groups(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	groups pg_catalog.jsonb)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_ranking_of_groups(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.jsonb) IS
	'a query to rank by, with further words that count as one with its words';

CREATE FUNCTION skipidx_boosted(
	ranking skipidx_ranking,
	factors pg_catalog.jsonb)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_boosted(skipidx_ranking, pg_catalog.jsonb) IS
	'the ranking with factors by which some of its words count';

CREATE FUNCTION skx_ranking_add(skipidx_ranking, skipidx_ranking)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME', 'skipidx_ranking_add'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_ranking_add(skipidx_ranking, skipidx_ranking) IS
	'implementation of + operator';

CREATE OPERATOR + (
	LEFTARG = skipidx_ranking,
	RIGHTARG = skipidx_ranking,
	FUNCTION = skx_ranking_add,
	COMMUTATOR = +);

COMMENT ON OPERATOR + (skipidx_ranking, skipidx_ranking) IS
	'the ranking of two tables as one';

CREATE AGGREGATE sum(skipidx_ranking) (
	SFUNC = skx_ranking_add,
	STYPE = skipidx_ranking,
	COMBINEFUNC = skx_ranking_add,
	PARALLEL = SAFE);

COMMENT ON AGGREGATE sum(skipidx_ranking) IS
	'the ranking of several tables as one';

--
-- Places in several rankings
--

CREATE FUNCTION skx_rrf_add(pg_catalog.int8, pg_catalog.int8)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME', 'skipidx_rrf_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION skx_rrf_add(pg_catalog.int8, pg_catalog.int8, pg_catalog.float8)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME', 'skipidx_rrf_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION skx_rrf_combine(pg_catalog.int8, pg_catalog.int8)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME', 'skipidx_rrf_combine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_rrf_sum(pg_catalog.int8)
RETURNS pg_catalog.float8
AS 'MODULE_PATHNAME', 'skipidx_rrf_sum'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_rrf_add(pg_catalog.int8, pg_catalog.int8) IS
	'aggregate transition function';
COMMENT ON FUNCTION skx_rrf_add(pg_catalog.int8, pg_catalog.int8, pg_catalog.float8) IS
	'aggregate transition function';
COMMENT ON FUNCTION skx_rrf_combine(pg_catalog.int8, pg_catalog.int8) IS
	'aggregate combine function';
COMMENT ON FUNCTION skx_rrf_sum(pg_catalog.int8) IS
	'aggregate final function';

CREATE AGGREGATE skipidx_rrf(place pg_catalog.int8) (
	SFUNC = skx_rrf_add,
	STYPE = pg_catalog.int8,
	FINALFUNC = skx_rrf_sum,
	COMBINEFUNC = skx_rrf_combine,
	INITCOND = '0',
	PARALLEL = SAFE);

CREATE AGGREGATE skipidx_rrf(place pg_catalog.int8, k pg_catalog.float8) (
	SFUNC = skx_rrf_add,
	STYPE = pg_catalog.int8,
	FINALFUNC = skx_rrf_sum,
	COMBINEFUNC = skx_rrf_combine,
	INITCOND = '0',
	PARALLEL = SAFE);

COMMENT ON AGGREGATE skipidx_rrf(pg_catalog.int8) IS
	'the sum of the reciprocals of places in several rankings, each more by 60';
COMMENT ON AGGREGATE skipidx_rrf(pg_catalog.int8, pg_catalog.float8) IS
	'the sum of the reciprocals of places in several rankings, each more by k';

--
-- Scores
--

CREATE FUNCTION skipidx_bm25(
	index pg_catalog.regclass,
	document pg_catalog.tsvector,
	query pg_catalog.tsquery)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_bm25(pg_catalog.regclass, pg_catalog.tsvector, pg_catalog.tsquery) IS
	'what the words of a query add to the score of a document, by the statistics of a skipidx index';

CREATE FUNCTION skipidx_proximity(
	index pg_catalog.regclass,
	document pg_catalog.tsvector,
	query pg_catalog.tsquery)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_proximity(pg_catalog.regclass, pg_catalog.tsvector, pg_catalog.tsquery) IS
	'what neighbouring words of a query add to the score of a document, by the statistics of a skipidx index';

CREATE FUNCTION skipidx_bm25(
	document pg_catalog.tsvector,
	ranking skipidx_ranking)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_bm25_ranking'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_bm25(pg_catalog.tsvector, skipidx_ranking) IS
	'what the words of a ranking add to the score of a document';

CREATE FUNCTION skipidx_proximity(
	document pg_catalog.tsvector,
	ranking skipidx_ranking)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_proximity_ranking'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_proximity(pg_catalog.tsvector, skipidx_ranking) IS
	'what neighbouring words of a ranking add to the score of a document';

CREATE FUNCTION skipidx_explain_score(
	index pg_catalog.regclass,
	ctid pg_catalog.tid,
	query pg_catalog.tsquery,
	OUT part pg_catalog.text,
	OUT word pg_catalog.text,
	OUT df pg_catalog.int8,
	OUT idf pg_catalog.float8,
	OUT tf pg_catalog.float4,
	OUT length pg_catalog.int4,
	OUT score pg_catalog.float4)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
ROWS 10;

COMMENT ON FUNCTION skipidx_explain_score(pg_catalog.regclass, pg_catalog.tid, pg_catalog.tsquery) IS
	'the parts of the score of a row of a table with a skipidx index';

CREATE FUNCTION skipidx_explain_score(
	document pg_catalog.tsvector,
	ranking skipidx_ranking,
	OUT part pg_catalog.text,
	OUT word pg_catalog.text,
	OUT df pg_catalog.int8,
	OUT idf pg_catalog.float8,
	OUT tf pg_catalog.float4,
	OUT length pg_catalog.int4,
	OUT score pg_catalog.float4)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'skipidx_explain_ranking'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
ROWS 10;

COMMENT ON FUNCTION skipidx_explain_score(pg_catalog.tsvector, skipidx_ranking) IS
	'the parts of the score of a document by a ranking';

CREATE FUNCTION skipidx_search(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	max_rows pg_catalog.int4 DEFAULT 10,
	rank_by pg_catalog.tsquery DEFAULT NULL,
	after pg_catalog.bytea DEFAULT NULL,
	ranking skipidx_ranking DEFAULT NULL,
	OUT ctid pg_catalog.tid,
	OUT score pg_catalog.float4,
	OUT token pg_catalog.bytea,
	OUT is_final pg_catalog.bool)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
ROWS 10;

COMMENT ON FUNCTION skipidx_search(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.int4, pg_catalog.tsquery, pg_catalog.bytea, skipidx_ranking) IS
	'the rows that match a query with the best scores, best first: all, or those behind the row of a token';

CREATE FUNCTION skipidx_terms(
	index pg_catalog.regclass,
	prefix pg_catalog.text DEFAULT '',
	max_rows pg_catalog.int4 DEFAULT 100,
	OUT term pg_catalog.text,
	OUT df pg_catalog.int8,
	OUT tf pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
ROWS 100;

COMMENT ON FUNCTION skipidx_terms(pg_catalog.regclass, pg_catalog.text, pg_catalog.int4) IS
	'the commonest terms of an index that begin with a prefix';

CREATE FUNCTION skipidx_suggest(
	index pg_catalog.regclass,
	word pg_catalog.text,
	max_rows pg_catalog.int4 DEFAULT 10,
	typos pg_catalog.text DEFAULT 'auto',
	accents pg_catalog.bool DEFAULT true,
	OUT term pg_catalog.text,
	OUT distance pg_catalog.int4,
	OUT df pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
ROWS 10;

COMMENT ON FUNCTION skipidx_suggest(pg_catalog.regclass, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bool) IS
	'the terms of an index that a word may have been meant for, the nearest ones first';

CREATE FUNCTION skipidx_complete(
	index pg_catalog.regclass,
	typed pg_catalog.text,
	max_rows pg_catalog.int4 DEFAULT 10,
	among pg_catalog.tsquery DEFAULT NULL,
	typos pg_catalog.text DEFAULT 'auto',
	OUT term pg_catalog.text,
	OUT count pg_catalog.int8,
	OUT distance pg_catalog.int4,
	OUT is_exact pg_catalog.bool)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 10000
ROWS 10;

COMMENT ON FUNCTION skipidx_complete(pg_catalog.regclass, pg_catalog.text, pg_catalog.int4, pg_catalog.tsquery, pg_catalog.text) IS
	'the terms that begin with what was typed, or with what is near it, those first that most rows have among those that match a query';

CREATE FUNCTION skipidx_expand_query(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	typos pg_catalog.text DEFAULT 'auto',
	last_is_prefix pg_catalog.bool DEFAULT false,
	accents pg_catalog.bool DEFAULT true,
	most pg_catalog.int4 DEFAULT 16,
	phrases pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 10000;

COMMENT ON FUNCTION skipidx_expand_query(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.bool, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool) IS
	'a query with each word or one of the terms of an index that are near it';

CREATE FUNCTION skipidx_expand(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	typos pg_catalog.text DEFAULT 'auto',
	last_is_prefix pg_catalog.bool DEFAULT false,
	accents pg_catalog.bool DEFAULT true,
	most pg_catalog.int4 DEFAULT 16,
	phrases pg_catalog.bool DEFAULT false)
RETURNS skipidx_ranking
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 10000;

COMMENT ON FUNCTION skipidx_expand(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.bool, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool) IS
	'a query to rank by, in which the terms of an index that are near a word count as one with it';

CREATE FUNCTION skipidx_slices(
	index pg_catalog.regclass,
	column_name pg_catalog.text,
	slices pg_catalog.int4,
	OUT slice pg_catalog.int4,
	OUT lower pg_catalog.text,
	OUT upper pg_catalog.text,
	OUT count pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
ROWS 10;

COMMENT ON FUNCTION skipidx_slices(pg_catalog.regclass, pg_catalog.text, pg_catalog.int4) IS
	'bounds of a column between which about as many rows are each, and how many have NULL';

CREATE FUNCTION skipidx_count(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	approx pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 1000;

COMMENT ON FUNCTION skipidx_count(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.bool) IS
	'how many rows match a query';

CREATE FUNCTION skipidx_facets(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	column_name pg_catalog.text,
	max_rows pg_catalog.int4 DEFAULT 10,
	OUT value pg_catalog.text,
	OUT count pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL UNSAFE
COST 1000
ROWS 10;

COMMENT ON FUNCTION skipidx_facets(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.int4) IS
	'the commonest values of a column among the rows that match a query';

CREATE FUNCTION skipidx_facets(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	column_names pg_catalog.text[],
	max_rows pg_catalog.int4 DEFAULT 10,
	OUT column_name pg_catalog.text,
	OUT value pg_catalog.text,
	OUT count pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL UNSAFE
COST 1000
ROWS 50;

COMMENT ON FUNCTION skipidx_facets(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text[], pg_catalog.int4) IS
	'the commonest values of each of several columns among the rows that match a query';

CREATE FUNCTION skipidx_histogram(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	column_name pg_catalog.text,
	bounds pg_catalog.anyarray,
	OUT bucket pg_catalog.int4,
	OUT lower pg_catalog.anyelement,
	OUT upper pg_catalog.anyelement,
	OUT count pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 1000
ROWS 20;

COMMENT ON FUNCTION skipidx_histogram(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.text, pg_catalog.anyarray) IS
	'how many of the rows that match a query have values of a column between bounds';

CREATE FUNCTION skipidx_scroll(
	index pg_catalog.regclass,
	query pg_catalog.tsquery,
	slice pg_catalog.int4 DEFAULT 0,
	slices pg_catalog.int4 DEFAULT 1,
	after pg_catalog.bytea DEFAULT NULL,
	max_rows pg_catalog.int4 DEFAULT 1000,
	OUT tableoid pg_catalog.oid,
	OUT ctid pg_catalog.tid,
	OUT token pg_catalog.bytea)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
ROWS 1000;

COMMENT ON FUNCTION skipidx_scroll(pg_catalog.regclass, pg_catalog.tsquery, pg_catalog.int4, pg_catalog.int4, pg_catalog.bytea, pg_catalog.int4) IS
	'the rows that match a query, by their place in the table: a page of a slice, behind the row of a token';

-- What values of a row add to the distance of its words.  The instant, by which
-- age is told, comes last.

CREATE FUNCTION skipidx_recency(
	value pg_catalog.timestamptz,
	half_life pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1,
	as_of pg_catalog.timestamptz DEFAULT pg_catalog.now())
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_recency'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_recency(pg_catalog.timestamptz, pg_catalog.interval, pg_catalog.float8, pg_catalog.timestamptz) IS
	'added to a distance: minus weight, halved for each half-life before as_of';

CREATE FUNCTION skipidx_recency(
	value pg_catalog.timestamp,
	half_life pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1,
	as_of pg_catalog.timestamp DEFAULT LOCALTIMESTAMP)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_recency'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_recency(pg_catalog.timestamp, pg_catalog.interval, pg_catalog.float8, pg_catalog.timestamp) IS
	'added to a distance: minus weight, halved for each half-life before as_of';

CREATE FUNCTION skipidx_recency(
	value pg_catalog.date,
	half_life pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1,
	as_of pg_catalog.date DEFAULT CURRENT_DATE)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_recency_date'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_recency(pg_catalog.date, pg_catalog.interval, pg_catalog.float8, pg_catalog.date) IS
	'added to a distance: minus weight, halved for each half-life before as_of';

CREATE FUNCTION skipidx_decay(
	value pg_catalog.timestamptz,
	half_life pg_catalog.interval,
	floor pg_catalog.float8 DEFAULT 0,
	as_of pg_catalog.timestamptz DEFAULT pg_catalog.now())
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_decay'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_decay(pg_catalog.timestamptz, pg_catalog.interval, pg_catalog.float8, pg_catalog.timestamptz) IS
	'a distance is multiplied by it: 1, halved for each half-life before as_of, but floor at least';

CREATE FUNCTION skipidx_decay(
	value pg_catalog.timestamp,
	half_life pg_catalog.interval,
	floor pg_catalog.float8 DEFAULT 0,
	as_of pg_catalog.timestamp DEFAULT LOCALTIMESTAMP)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_decay'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_decay(pg_catalog.timestamp, pg_catalog.interval, pg_catalog.float8, pg_catalog.timestamp) IS
	'a distance is multiplied by it: 1, halved for each half-life before as_of, but floor at least';

CREATE FUNCTION skipidx_decay(
	value pg_catalog.date,
	half_life pg_catalog.interval,
	floor pg_catalog.float8 DEFAULT 0,
	as_of pg_catalog.date DEFAULT CURRENT_DATE)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_decay_date'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_decay(pg_catalog.date, pg_catalog.interval, pg_catalog.float8, pg_catalog.date) IS
	'a distance is multiplied by it: 1, halved for each half-life before as_of, but floor at least';

CREATE FUNCTION skipidx_near(
	value pg_catalog.float8,
	origin pg_catalog.float8,
	scale pg_catalog.float8,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_near'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_near(pg_catalog.float8, pg_catalog.float8, pg_catalog.float8, pg_catalog.float8) IS
	'added to a distance: minus weight, of which half is left at scale from origin';

CREATE FUNCTION skipidx_near(
	value pg_catalog.timestamptz,
	origin pg_catalog.timestamptz,
	scale pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_near_time'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_near(pg_catalog.timestamptz, pg_catalog.timestamptz, pg_catalog.interval, pg_catalog.float8) IS
	'added to a distance: minus weight, of which half is left at scale from origin';

CREATE FUNCTION skipidx_near(
	value pg_catalog.timestamp,
	origin pg_catalog.timestamp,
	scale pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_near_time'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_near(pg_catalog.timestamp, pg_catalog.timestamp, pg_catalog.interval, pg_catalog.float8) IS
	'added to a distance: minus weight, of which half is left at scale from origin';

CREATE FUNCTION skipidx_near(
	value pg_catalog.date,
	origin pg_catalog.date,
	scale pg_catalog.interval,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_near_date'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_near(pg_catalog.date, pg_catalog.date, pg_catalog.interval, pg_catalog.float8) IS
	'added to a distance: minus weight, of which half is left at scale from origin';

CREATE FUNCTION skipidx_saturation(
	value pg_catalog.float8,
	pivot pg_catalog.float8,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_saturation'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_saturation(pg_catalog.float8, pg_catalog.float8, pg_catalog.float8) IS
	'added to a distance: minus weight * value / (value + pivot)';

CREATE FUNCTION skipidx_log1p(
	value pg_catalog.float8,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_log1p'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_log1p(pg_catalog.float8, pg_catalog.float8) IS
	'added to a distance: minus weight * ln(1 + value)';

CREATE FUNCTION skipidx_boost(
	condition pg_catalog.bool,
	weight pg_catalog.float8 DEFAULT 1)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_boost'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skipidx_boost(pg_catalog.bool, pg_catalog.float8) IS
	'added to a distance: minus weight where the condition is true';

-- Like to_tsvector: a configuration may be changed, but is given out as if not.
CREATE FUNCTION skipidx_any(
	config pg_catalog.regconfig,
	document pg_catalog.text)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
COST 100;

COMMENT ON FUNCTION skipidx_any(pg_catalog.regconfig, pg_catalog.text) IS
	'a query for any of the words of a text';

CREATE FUNCTION skipidx_any(
	document pg_catalog.text)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME', 'skipidx_any_default'
LANGUAGE C STABLE STRICT PARALLEL SAFE
COST 100;

COMMENT ON FUNCTION skipidx_any(pg_catalog.text) IS
	'a query for any of the words of a text';

CREATE FUNCTION skipidx_any_of(
	index pg_catalog.regclass,
	question pg_catalog.text,
	most_rows pg_catalog.float8 DEFAULT 0.5,
	config pg_catalog.regconfig DEFAULT NULL)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 1000;

COMMENT ON FUNCTION skipidx_any_of(pg_catalog.regclass, pg_catalog.text, pg_catalog.float8, pg_catalog.regconfig) IS
	'a query for any of the words of a question, but for those that too many rows of an index have';

CREATE FUNCTION skipidx_any_of_words(
	index pg_catalog.regclass,
	question pg_catalog.text,
	most_rows pg_catalog.float8 DEFAULT 0.5,
	config pg_catalog.regconfig DEFAULT NULL,
	OUT word pg_catalog.text,
	OUT df pg_catalog.int8,
	OUT is_left_out pg_catalog.bool)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE PARALLEL RESTRICTED
COST 1000
ROWS 30;

COMMENT ON FUNCTION skipidx_any_of_words(pg_catalog.regclass, pg_catalog.text, pg_catalog.float8, pg_catalog.regconfig) IS
	'the words of a question, how many rows of an index have each, and which are left out';

CREATE FUNCTION skipidx_document(
	config pg_catalog.regconfig,
	content pg_catalog.text)
RETURNS pg_catalog.tsvector
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
COST 100;

COMMENT ON FUNCTION skipidx_document(pg_catalog.regconfig, pg_catalog.text) IS
	'the tsvector of a text, of a long one as much as fits';

CREATE FUNCTION skipidx_highlight(
	config pg_catalog.regconfig,
	document pg_catalog.text,
	query pg_catalog.tsquery,
	start_mark pg_catalog.text DEFAULT '<b>',
	stop_mark pg_catalog.text DEFAULT '</b>',
	max_words pg_catalog.int4 DEFAULT 35,
	max_passages pg_catalog.int4 DEFAULT 1,
	separator pg_catalog.text DEFAULT ' ... ')
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
COST 100;

COMMENT ON FUNCTION skipidx_highlight(pg_catalog.regconfig, pg_catalog.text, pg_catalog.tsquery,
	pg_catalog.text, pg_catalog.text, pg_catalog.int4, pg_catalog.int4, pg_catalog.text) IS
	'the best passages of a text for a query, with its words marked';

--
-- Ranking.  The planner turns <@> with a query on its right into <@> with a
-- reference there: the query, and the index by whose statistics it ranks.
--

CREATE TYPE skipidx_ref;

CREATE FUNCTION skx_ref_in(pg_catalog.cstring)
RETURNS skipidx_ref
AS 'MODULE_PATHNAME', 'skipidx_ref_in'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION skx_ref_out(skipidx_ref)
RETURNS pg_catalog.cstring
AS 'MODULE_PATHNAME', 'skipidx_ref_out'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_ref_recv(pg_catalog.internal)
RETURNS skipidx_ref
AS 'MODULE_PATHNAME', 'skipidx_ref_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE skipidx_ref (
	INPUT = skx_ref_in,
	OUTPUT = skx_ref_out,
	RECEIVE = skx_ref_recv,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = pg_catalog.int4,
	STORAGE = plain);

COMMENT ON TYPE skipidx_ref IS
	'a ranking query and the skipidx index that ranks';

CREATE FUNCTION skipidx_query(
	query pg_catalog.tsquery,
	index pg_catalog.text)
RETURNS skipidx_ref
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION skipidx_query(pg_catalog.tsquery, pg_catalog.text) IS
	'a query to rank by, by the index of this name';

CREATE FUNCTION skx_bind(pg_catalog.tsquery, skipidx_ref)
RETURNS skipidx_ref
AS 'MODULE_PATHNAME', 'skipidx_bind'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_bind(pg_catalog.tsquery, skipidx_ref) IS
	'another query to rank by, by the index of a reference';

CREATE FUNCTION skx_distance_support(pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_distance_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_distance(pg_catalog.tsvector, pg_catalog.tsquery)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_distance'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100
SUPPORT skx_distance_support;

COMMENT ON FUNCTION skx_distance(pg_catalog.tsvector, pg_catalog.tsquery) IS
	'implementation of <@> operator';

CREATE FUNCTION skx_distance(pg_catalog.tsvector, skipidx_ref)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_distance_bound'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100
SUPPORT skx_distance_support;

COMMENT ON FUNCTION skx_distance(pg_catalog.tsvector, skipidx_ref) IS
	'implementation of <@> operator';

CREATE OPERATOR <@> (
	LEFTARG = pg_catalog.tsvector,
	RIGHTARG = pg_catalog.tsquery,
	FUNCTION = skx_distance);

COMMENT ON OPERATOR <@> (pg_catalog.tsvector, pg_catalog.tsquery) IS
	'minus the score of a document by a query: best ones first';

CREATE OPERATOR <@> (
	LEFTARG = pg_catalog.tsvector,
	RIGHTARG = skipidx_ref,
	FUNCTION = skx_distance);

COMMENT ON OPERATOR <@> (pg_catalog.tsvector, skipidx_ref) IS
	'minus the score of a document by a query and an index: best ones first';

-- By a ranking it depends on nothing else, and needs no index.
CREATE FUNCTION skx_distance(pg_catalog.tsvector, skipidx_ranking)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_distance_ranking'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT skx_distance_support;

COMMENT ON FUNCTION skx_distance(pg_catalog.tsvector, skipidx_ranking) IS
	'implementation of <@> operator';

CREATE OPERATOR <@> (
	LEFTARG = pg_catalog.tsvector,
	RIGHTARG = skipidx_ranking,
	FUNCTION = skx_distance);

COMMENT ON OPERATOR <@> (pg_catalog.tsvector, skipidx_ranking) IS
	'minus the score of a document by a ranking: best ones first';

CREATE FUNCTION skx_tsquery(pg_catalog.text)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME', 'skipidx_tsquery'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION skx_tsquery(pg_catalog.text) IS
	'a query as tsquery itself reads it, with a hint where it is none';

-- A literal without a type could be a query, a reference or a ranking; as a
-- string it is a query.
CREATE FUNCTION skx_distance(pg_catalog.tsvector, pg_catalog.text)
RETURNS pg_catalog.float4
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
RETURN $1 <@> skx_tsquery($2);

COMMENT ON FUNCTION skx_distance(pg_catalog.tsvector, pg_catalog.text) IS
	'implementation of <@> operator';

CREATE OPERATOR <@> (
	LEFTARG = pg_catalog.tsvector,
	RIGHTARG = pg_catalog.text,
	FUNCTION = skx_distance);

COMMENT ON OPERATOR <@> (pg_catalog.tsvector, pg_catalog.text) IS
	'minus the score of a document by a query, written as a string: best ones first';

--
-- Words beside columns of text.  The planner puts the document of an index in
-- place of the columns, and a query in place of the words.  The left operand is
-- a column or a row of columns.  The right operand is of a type of its own, so
-- that other extensions with such operators on text keep their statements.  The
-- functions are not strict: a document may not be NULL where its columns are, as
-- that of coalesce(), and the planner asks before it has the document.
--

CREATE TYPE skipidx_words;

CREATE FUNCTION skx_words_in(pg_catalog.cstring)
RETURNS skipidx_words
AS 'textin'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_words_out(skipidx_words)
RETURNS pg_catalog.cstring
AS 'textout'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_words_recv(pg_catalog.internal)
RETURNS skipidx_words
AS 'textrecv'
LANGUAGE internal STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_words_send(skipidx_words)
RETURNS pg_catalog.bytea
AS 'textsend'
LANGUAGE internal STABLE STRICT PARALLEL SAFE;

CREATE TYPE skipidx_words (
	INPUT = skx_words_in,
	OUTPUT = skx_words_out,
	RECEIVE = skx_words_recv,
	SEND = skx_words_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = pg_catalog.int4,
	STORAGE = extended);

COMMENT ON TYPE skipidx_words IS
	'words to search for, as people type them';

CREATE CAST (pg_catalog.text AS skipidx_words) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS skipidx_words) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (skipidx_words AS pg_catalog.text) WITHOUT FUNCTION AS ASSIGNMENT;

CREATE FUNCTION skx_any_words(pg_catalog.regconfig, skipidx_words, pg_catalog.int4)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME', 'skipidx_any_words'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

COMMENT ON FUNCTION skx_any_words(pg_catalog.regconfig, skipidx_words, pg_catalog.int4) IS
	'the query for any of the words, with one of these labels';

CREATE FUNCTION skx_web_words(pg_catalog.regconfig, skipidx_words, pg_catalog.int4)
RETURNS pg_catalog.tsquery
AS 'MODULE_PATHNAME', 'skipidx_web_words'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

COMMENT ON FUNCTION skx_web_words(pg_catalog.regconfig, skipidx_words, pg_catalog.int4) IS
	'the query that a web search means by the words, with one of these labels';

CREATE FUNCTION skx_words_support(pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_words_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_distance(pg_catalog.anyelement, skipidx_words)
RETURNS pg_catalog.float4
AS 'MODULE_PATHNAME', 'skipidx_words_distance'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100
SUPPORT skx_words_support;

COMMENT ON FUNCTION skx_distance(pg_catalog.anyelement, skipidx_words) IS
	'implementation of <@> operator';

CREATE FUNCTION skx_match(pg_catalog.anyelement, skipidx_words)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'skipidx_words_match'
LANGUAGE C STABLE PARALLEL SAFE COST 100
SUPPORT skx_words_support;

COMMENT ON FUNCTION skx_match(pg_catalog.anyelement, skipidx_words) IS
	'implementation of @@@ operator';

CREATE FUNCTION skipidx_passages(
	document pg_catalog.anyelement,
	words skipidx_words,
	start_mark pg_catalog.text DEFAULT '<b>',
	stop_mark pg_catalog.text DEFAULT '</b>',
	max_words pg_catalog.int4 DEFAULT 35,
	max_passages pg_catalog.int4 DEFAULT 1,
	separator pg_catalog.text DEFAULT ' ... ')
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE
COST 100
SUPPORT skx_words_support;

COMMENT ON FUNCTION skipidx_passages(pg_catalog.anyelement, skipidx_words,
	pg_catalog.text, pg_catalog.text, pg_catalog.int4, pg_catalog.int4, pg_catalog.text) IS
	'the best passages of a column of text for words, which are marked';

CREATE OPERATOR <@> (
	LEFTARG = pg_catalog.anyelement,
	RIGHTARG = skipidx_words,
	FUNCTION = skx_distance);

COMMENT ON OPERATOR <@> (pg_catalog.anyelement, skipidx_words) IS
	'minus the score of a text by any of the words: best ones first';

CREATE OPERATOR @@@ (
	LEFTARG = pg_catalog.anyelement,
	RIGHTARG = skipidx_words,
	FUNCTION = skx_match,
	RESTRICT = pg_catalog.tsmatchsel,
	JOIN = pg_catalog.tsmatchjoinsel);

COMMENT ON OPERATOR @@@ (pg_catalog.anyelement, skipidx_words) IS
	'a text matches words in the syntax of web searches';

ALTER OPERATOR FAMILY tsvector_ops USING skipidx ADD
	OPERATOR 3 <@> (pg_catalog.tsvector, skipidx_ref)
		FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 5 <@> (pg_catalog.tsvector, skipidx_ranking)
		FOR ORDER BY pg_catalog.float_ops;

--
-- What an index is asked for by a disjunction of conditions on its columns.  The
-- planner writes it, in place of a condition with OR.
--

CREATE TYPE skipidx_disjunction;

CREATE FUNCTION skx_disjunction_in(pg_catalog.cstring)
RETURNS skipidx_disjunction
AS 'MODULE_PATHNAME', 'skipidx_disjunction_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_disjunction_out(skipidx_disjunction)
RETURNS pg_catalog.cstring
AS 'MODULE_PATHNAME', 'skipidx_disjunction_out'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_disjunction_recv(pg_catalog.internal)
RETURNS skipidx_disjunction
AS 'MODULE_PATHNAME', 'skipidx_disjunction_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE skipidx_disjunction (
	INPUT = skx_disjunction_in,
	OUTPUT = skx_disjunction_out,
	RECEIVE = skx_disjunction_recv,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = pg_catalog.float8,
	STORAGE = plain);

COMMENT ON TYPE skipidx_disjunction IS
	'conditions on columns of a skipidx index, one of which is to be met';

CREATE FUNCTION skx_bind_values(skipidx_disjunction, VARIADIC pg_catalog."any")
RETURNS skipidx_disjunction
AS 'MODULE_PATHNAME', 'skipidx_bind_values'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skx_bind_values(skipidx_disjunction, VARIADIC pg_catalog."any") IS
	'the same disjunction with values that only the execution knows';

CREATE FUNCTION skx_meets(pg_catalog.tsvector, skipidx_disjunction)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'skipidx_meets'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION skx_meets(pg_catalog.tsvector, skipidx_disjunction) IS
	'implementation of @@| operator';

CREATE OPERATOR @@| (
	LEFTARG = pg_catalog.tsvector,
	RIGHTARG = skipidx_disjunction,
	FUNCTION = skx_meets,
	RESTRICT = pg_catalog.contsel,
	JOIN = pg_catalog.contjoinsel);

COMMENT ON OPERATOR @@| (pg_catalog.tsvector, skipidx_disjunction) IS
	'for the planner: what an index tells of the conditions; true of any row';

ALTER OPERATOR FAMILY tsvector_ops USING skipidx ADD
	OPERATOR 4 @@| (pg_catalog.tsvector, skipidx_disjunction);

--
-- Text without spaces between words.  A configuration of its own has other
-- dictionaries for words; what it does with the three types of runs stays.
--

CREATE FUNCTION skx_bigram_start(pg_catalog.internal, pg_catalog.int4)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_bigram_start'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_bigram_token(pg_catalog.internal, pg_catalog.internal, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_bigram_token'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_bigram_end(pg_catalog.internal)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'skipidx_bigram_end'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_bigram_headline(pg_catalog.internal, pg_catalog.internal, pg_catalog.tsquery)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_bigram_headline'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION skx_bigram_types(pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_bigram_types'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TEXT SEARCH PARSER skipidx_bigram (
	START = skx_bigram_start,
	GETTOKEN = skx_bigram_token,
	END = skx_bigram_end,
	HEADLINE = skx_bigram_headline,
	LEXTYPES = skx_bigram_types);

COMMENT ON TEXT SEARCH PARSER skipidx_bigram IS
	'bigrams of Han, Kana, Hangul and Thai, and the tokens of the default parser';

CREATE FUNCTION skx_stop_lexize(pg_catalog.internal, pg_catalog.internal, pg_catalog.internal, pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'skipidx_stop_lexize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TEXT SEARCH TEMPLATE skipidx_stop (LEXIZE = skx_stop_lexize);

COMMENT ON TEXT SEARCH TEMPLATE skipidx_stop IS
	'takes each token as a stop word';

CREATE TEXT SEARCH DICTIONARY skipidx_stop (TEMPLATE = skipidx_stop);

COMMENT ON TEXT SEARCH DICTIONARY skipidx_stop IS
	'takes each token as a stop word';

CREATE TEXT SEARCH CONFIGURATION skipidx_bigram (PARSER = skipidx_bigram);

ALTER TEXT SEARCH CONFIGURATION skipidx_bigram ADD MAPPING FOR
	asciiword, word, numword, email, url, host, sfloat, version, hword_numpart, hword_part, hword_asciipart, numhword,
	asciihword, hword, url_path, file, "float", "int", uint, single, bigram
	WITH pg_catalog.simple;

ALTER TEXT SEARCH CONFIGURATION skipidx_bigram ADD MAPPING FOR run_end
	WITH skipidx_stop;

COMMENT ON TEXT SEARCH CONFIGURATION skipidx_bigram IS
	'bigrams of Han, Kana, Hangul and Thai, and simple words';

CREATE TEXT SEARCH CONFIGURATION skipidx_bigram_document (COPY = skipidx_bigram);

ALTER TEXT SEARCH CONFIGURATION skipidx_bigram_document ALTER MAPPING FOR run_end
	WITH pg_catalog.simple;

COMMENT ON TEXT SEARCH CONFIGURATION skipidx_bigram_document IS
	'the same for documents alone, in which a prefix of one character finds ends of runs, too';
