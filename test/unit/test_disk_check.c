/*
 * test_disk_check.c
 *	  Damaged pages against the validators: no damage makes one read outside
 *	  the page, what passes can be walked, and typical damage is refused.
 *
 * Holds: disk 3
 */
#include "unit_pages.h"

#define MUTATIONS	UNIT_CASES(20000)

/* Changes a few bytes of the content, often near its start. */
static void
unit_mutate(char *page)
{
	Size		size = ((PageHeader) page)->pd_lower - SKX_PAGE_START;
	int			n = 1 + unit_below(4);

	while (n-- > 0)
	{
		Size		near = unit_below(3) == 0 ? Min(size, 64) : size;
		Size		at = SKX_PAGE_START + unit_below(near);

		switch (unit_below(3))
		{
			case 0:
				page[at] = (char) unit_random();
				break;
			case 1:
				page[at] ^= 1 << unit_below(8);
				break;
			default:
				page[at] = unit_below(2) ? 0xFF : 0;
				break;
		}
	}
}

static void
test_kind(const UnitKind *kind)
{
	char		page[BLCKSZ];
	char		golden[BLCKSZ];
	int			refused = 0;
	int			i;

	unit_golden_read(kind->name, golden);
	unit_setup(kind, golden);
	CHECK(kind->check((char *) unit_guarded((uint8 *) golden,
											BLCKSZ)) == NULL);
	for (i = 0; i < MUTATIONS; i++)
	{
		memcpy(page, golden, BLCKSZ);
		unit_mutate(page);
		refused += kind->check((char *) unit_guarded((uint8 *) page,
													 BLCKSZ)) != NULL;
	}
	if (refused < MUTATIONS / 100 * kind->must_refuse)
		fprintf(stderr, "%s: %d of %d refused\n", kind->name, refused,
				MUTATIONS);
	CHECK(refused >= MUTATIONS / 100 * kind->must_refuse);

	/* any content of any length */
	for (i = 0; i < MUTATIONS; i++)
	{
		Size		size = unit_below(SKX_PAGE_CAPACITY + 1);
		Size		j;

		memcpy(page, golden, BLCKSZ);
		if (unit_below(2) == 0)
			((PageHeader) page)->pd_lower = SKX_PAGE_START + size;
		for (j = 0; j < size && i % 2 == 0; j++)
			page[SKX_PAGE_START + j] = (char) unit_random();
		kind->check((char *) unit_guarded((uint8 *) page, BLCKSZ));
		unit_checks++;
	}
}

int
main(void)
{
	int			i;

	unit_seed(11);
	for (i = 0; i < lengthof(unit_kinds); i++)
		test_kind(&unit_kinds[i]);
	return unit_done("disk_check");
}
