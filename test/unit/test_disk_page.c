/*
 * test_disk_page.c
 *	  Identity and checksum of a page: what is sound passes, each flipped bit
 *	  is found, and what the server may change is not.
 *
 * Holds: disk 1, 2
 */
#include "unit.h"

#include "format/disk/disk_page.h"

static const SkxPageIdentity unit_id = {
	UINT64CONST(0x0123456789ABCDEF), 7, 42, SKX_PLANE_DICT
};

static void
unit_page(char *page, uint32 used, const SkxPageIdentity *id)
{
	uint32		i;

	skx_disk_page_init(page, id);
	/* seal must clear what lies past the content */
	memset(page + SKX_PAGE_START, 0xEE, SKX_PAGE_CAPACITY);
	for (i = 0; i < used; i++)
		page[SKX_PAGE_START + i] = (char) (i * 7 + 1);
	skx_disk_page_seal(page, used);
}

static void
test_sound(void)
{
	static const uint32 sizes[] = {0, 1, 100, SKX_PAGE_CAPACITY};
	char		page[BLCKSZ];
	int			i;
	uint32		j;

	for (i = 0; i < lengthof(sizes); i++)
	{
		PageHeader	header = (PageHeader) page;

		unit_page(page, sizes[i], &unit_id);
		CHECK(skx_disk_page_check(page, &unit_id) == NULL);
		CHECK(header->pd_lower == SKX_PAGE_START + sizes[i]);
		CHECK(header->pd_upper == SKX_PAGE_END);
		CHECK(header->pd_special == SKX_PAGE_END);
		for (j = sizes[i]; j < SKX_PAGE_CAPACITY; j++)
			CHECK(page[SKX_PAGE_START + j] == 0);
	}
}

/* LSN, checksum and flags belong to the server. */
static void
test_server_fields(void)
{
	char		page[BLCKSZ];
	int			i;

	unit_page(page, 5000, &unit_id);
	for (i = 0; i < 12; i++)
		page[i] ^= 0xFF;
	CHECK(skx_disk_page_check(page, &unit_id) == NULL);
}

static void
test_flips(void)
{
	char		page[BLCKSZ];
	int			bit;

	unit_page(page, 3000, &unit_id);
	for (bit = 12 * 8; bit < BLCKSZ * 8; bit++)
	{
		page[bit / 8] ^= 1 << (bit % 8);
		CHECK(skx_disk_page_check(page, &unit_id) != NULL);
		page[bit / 8] ^= 1 << (bit % 8);
	}
	CHECK(skx_disk_page_check(page, &unit_id) == NULL);
}

static void
test_identity(void)
{
	char		page[BLCKSZ];
	SkxPageIdentity id;

	unit_page(page, 10, &unit_id);
	id = unit_id;
	id.incarnation++;
	CHECK(skx_disk_page_check(page, &id) != NULL);
	id = unit_id;
	id.segment++;
	CHECK(skx_disk_page_check(page, &id) != NULL);
	id = unit_id;
	id.ordinal++;
	CHECK(skx_disk_page_check(page, &id) != NULL);
	id = unit_id;
	id.plane = SKX_PLANE_TIDS;
	CHECK(skx_disk_page_check(page, &id) != NULL);
	/* asked for as a page without a checksum */
	id.plane = SKX_PLANE_META;
	CHECK(skx_disk_page_check(page, &id) != NULL);
	memset(page, 0, sizeof(page));
	CHECK(skx_disk_page_check(page, &unit_id) != NULL);
}

/* A mutable page has no checksum, its identity is checked all the same. */
static void
test_mutable(void)
{
	static const SkxPageIdentity id = {99, 0, 3, SKX_PLANE_PENDING};
	char		page[BLCKSZ];

	skx_disk_page_init(page, &id);
	CHECK(skx_disk_const_trailer(page)->crc == 0);
	CHECK(skx_disk_page_check(page, &id) == NULL);
	page[100] = 1;
	CHECK(skx_disk_page_check(page, &id) == NULL);
	skx_disk_trailer(page)->ordinal = 4;
	CHECK(skx_disk_page_check(page, &id) != NULL);
}

int
main(void)
{
	test_sound();
	test_server_fields();
	test_flips();
	test_identity();
	test_mutable();
	return unit_done("disk_page");
}
