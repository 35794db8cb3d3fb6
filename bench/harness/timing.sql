-- timing.sql: the procedures of timing.c, for a database of a benchmark.
-- `module` is the path of the compiled library, without .so.
CREATE PROCEDURE bench_scan(index regclass, searches text, strategy int,
	k bigint, fetched bool, repetitions int, warm bool, seconds float8,
	fresh bool, INOUT us float8[], INOUT hits bigint[], INOUT work float8[],
	INOUT limit_told bool)
LANGUAGE c AS :'module', 'bench_scan';

CREATE PROCEDURE bench_statement(statement text, searches text,
	repetitions int, warm bool, seconds float8,
	fresh bool, INOUT us float8[], INOUT hits bigint[], INOUT work float8[],
	INOUT limit_told bool)
LANGUAGE c AS :'module', 'bench_statement';
