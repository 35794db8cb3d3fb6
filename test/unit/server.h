/*
 * server.h
 *	  Stand-ins that a test of a part of the server needs whatever it tests.
 *
 * Included once, after unit.h.
 */
#ifndef SKX_TEST_SERVER_H
#define SKX_TEST_SERVER_H

#ifdef USE_ASSERT_CHECKING
#if PG_VERSION_NUM >= 160000
void
ExceptionalCondition(const char *condition, const char *file, int line)
#else
void
ExceptionalCondition(const char *condition, const char *type,
					 const char *file, int line)
#endif
{
	fprintf(stderr, "%s:%d: %s\n", file, line, condition);
	abort();
}
#endif

#endif							/* SKX_TEST_SERVER_H */
