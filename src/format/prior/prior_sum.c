/*
 * prior_sum.c
 *	  A distance to which values add, and bounds of it.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/prior/prior_sum.h"

/* Replaces *a by bounds of an operation on two numbers in these ranges. */
static void
skx_prior_operate(SkxPriorStep step, SkxPriorRange *a, const SkxPriorRange *b)
{
	SkxPriorRange x = *a;

	switch (step)
	{
		case SKX_PRIOR_ADD:
			a->least = x.least + b->least;
			a->most = x.most + b->most;
			break;
		case SKX_PRIOR_SUBTRACT:
			a->least = x.least - b->most;
			a->most = x.most - b->least;
			break;
		default:
			/* of a negative number, the larger factor makes the lesser one */
			a->least = x.least * (x.least < 0 ? b->most : b->least);
			a->most = x.most * (x.most < 0 ? b->least : b->most);
			break;
	}
}

SkxPriorRange
skx_prior_sum(const SkxPriorSum *sum, float distance,
			  const SkxPriorRange *terms)
{
	SkxPriorRange stack[SKX_PRIOR_STEPS_MAX] = {{0, 0}};
	int			n = 0;
	int			i;

	for (i = 0; i < sum->nsteps; i++)
	{
		int			step = sum->steps[i];

		if (step >= SKX_PRIOR_TERM)
			stack[n++] = terms[step - SKX_PRIOR_TERM];
		else if (step == SKX_PRIOR_DISTANCE)
		{
			stack[n].least = stack[n].most = distance;
			n++;
		}
		else
		{
			n--;
			skx_prior_operate(step, &stack[n - 1], &stack[n]);
		}
	}
	return stack[0];
}

/* The bits of a float ascend as its magnitude does. */
int
skx_prior_grade(float value)
{
	int			bits;

	value = value == 0 ? 0 : value;
	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? bits & PG_INT32_MAX : -bits;
}

float
skx_prior_grade_value(int grade)
{
	int			bits = grade > 0 ? grade | PG_INT32_MIN : -grade;
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}
