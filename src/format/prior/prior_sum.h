/*
 * prior_sum.h
 *	  A distance to which values add: an expression of float4, computed of
 *	  numbers or of their bounds.
 *
 * Each operation is the server's own on float4, which rounds once.  Rounding
 * never changes an order.  So an operation on bounds bounds the operation on
 * what lies between them, to the last bit.
 */
#ifndef SKX_PRIOR_SUM_H
#define SKX_PRIOR_SUM_H

/* Most values that an expression has beside the distance. */
#define SKX_PRIOR_TERMS_MAX		8

/* Most operands and operators of an expression. */
#define SKX_PRIOR_STEPS_MAX		(2 * SKX_PRIOR_TERMS_MAX + 1)

/* A number between two others, both included. */
typedef struct SkxPriorRange
{
	float		least;
	float		most;
} SkxPriorRange;

/* What stands at a place of an expression in postfix form. */
typedef enum SkxPriorStep
{
	SKX_PRIOR_ADD = -4,
	SKX_PRIOR_SUBTRACT,
	SKX_PRIOR_MULTIPLY,			/* the second operand is above 0 */
	SKX_PRIOR_DISTANCE,			/* the distance of the words */
	SKX_PRIOR_TERM				/* term 0; term i is SKX_PRIOR_TERM + i */
} SkxPriorStep;

/*
 * An expression.  It has the distance once, and rises with it: the distance is
 * in no second operand of a subtraction or multiplication.
 */
typedef struct SkxPriorSum
{
	int			nsteps;
	int			steps[SKX_PRIOR_STEPS_MAX]; /* SkxPriorStep */
} SkxPriorSum;

/*
 * Returns bounds of the expression for a distance, and terms in these ranges.
 * Both are the value itself if each range is one number.
 */
extern SkxPriorRange skx_prior_sum(const SkxPriorSum *sum, float distance,
								   const SkxPriorRange *terms);

/*
 * Returns the grade of a value of the expression: an integer that falls when
 * the value rises, and is the same for 0 and -0.  The value is not NaN.
 */
extern int	skx_prior_grade(float value);

/* Returns the value that has a grade; 0 for that of 0 and -0. */
extern float skx_prior_grade_value(int grade);

#endif							/* SKX_PRIOR_SUM_H */
