/*
 * unit_raise.h
 *	  Stands in for ereport(ERROR) where a test wants it raised: RAISED gives
 *	  the SQLSTATE of what a call raises, 0 if it does not.
 *
 * Included once, by a test of a part of the server.
 */
#ifndef SKX_TEST_UNIT_RAISE_H
#define SKX_TEST_UNIT_RAISE_H

#include <setjmp.h>

/* No variable changes between a call and what it raises. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

static sigjmp_buf unit_raise_to;
static bool unit_raise_caught;
static int	unit_raise_code;

#define RAISED(call) \
	(unit_raise_caught = true, unit_raise_code = 0, \
	 sigsetjmp(unit_raise_to, 0) == 0 ? \
	 ((void) (call), unit_raise_caught = false, 0) : \
	 (unit_raise_caught = false, unit_raise_code))

bool
errstart(int elevel, const char *domain)
{
	unit_raise_code = ERRCODE_INTERNAL_ERROR;
	return elevel >= ERROR;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int code)
{
	unit_raise_code = code;
	return 0;
}

int
errmsg(const char *format,...)
{
	return 0;
}

int
errmsg_internal(const char *format,...)
{
	return 0;
}

int
errdetail(const char *format,...)
{
	return 0;
}

int
errhint(const char *format,...)
{
	return 0;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (!unit_raise_caught)
	{
		fprintf(stderr, "%s:%d: raised by %s\n", filename, lineno, funcname);
		abort();
	}
	siglongjmp(unit_raise_to, 1);
}

#endif							/* SKX_TEST_UNIT_RAISE_H */
