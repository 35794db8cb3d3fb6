/*
 * unit_error.h
 *	  Stands in for elog(ERROR) and ereport(ERROR) where nothing should raise it.
 *
 * Included once, by a test that includes a writer's source.
 */
#ifndef SKX_TEST_UNIT_ERROR_H
#define SKX_TEST_UNIT_ERROR_H

bool
errstart(int elevel, const char *domain)
{
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return true;
}

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errhint(const char *fmt,...)
{
	return 0;
}

int
errmsg_internal(const char *fmt,...)
{
	fprintf(stderr, "error: %s\n", fmt);
	return 0;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	fprintf(stderr, "%s:%d: raised by %s\n", filename, lineno, funcname);
	abort();
}

#endif							/* SKX_TEST_UNIT_ERROR_H */
