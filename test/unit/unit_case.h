/*
 * unit_case.h
 *	  One of many random cases: its number, and the end of the test where it
 *	  goes wrong.
 *
 * Included once, after unit.h.  UNIT_SEED repeats the case of that number, and
 * tells its steps.
 */
#ifndef SKX_TEST_UNIT_CASE_H
#define SKX_TEST_UNIT_CASE_H

static uint64 unit_case;
static int	unit_step;
static const char *unit_step_name = "begin";
static bool unit_told;			/* the steps of the case are told */

/* Ends the test, and says how to repeat the case. */
static void unit_wrong(const char *format,...)
			pg_attribute_printf(1, 2) pg_attribute_noreturn();

static void
unit_wrong(const char *format,...)
{
	va_list		args;

	fprintf(stderr, "seed %llu, step %d (%s): ",
			(unsigned long long) unit_case, unit_step, unit_step_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nUNIT_SEED=%llu repeats it\n",
			(unsigned long long) unit_case);
	exit(1);
}

/* A check; what follows the condition is for unit_wrong(). */
#define MUST(condition, ...) \
	do { \
		unit_checks++; \
		if (unlikely(!(condition))) \
			unit_wrong(__VA_ARGS__); \
	} while (0)

static inline bool
unit_chance(uint64 percent)
{
	return unit_below(100) < percent;
}

#endif							/* SKX_TEST_UNIT_CASE_H */
