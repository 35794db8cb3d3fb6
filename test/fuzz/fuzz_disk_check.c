/*
 * fuzz_disk_check.c
 *	  Page validators: the kind of page, then its content.
 *
 * Sound inputs are golden pages.
 *
 * Holds: disk 3
 */
#include "fuzz.h"
#include "unit_pages.h"

size_t
fuzz_seed(uint8 *data, size_t room)
{
	char		page[BLCKSZ];
	int			kind = unit_below(lengthof(unit_kinds));
	size_t		size;

	unit_golden_read(unit_kinds[kind].name, page);
	size = ((PageHeader) page)->pd_lower - SKX_PAGE_START;
	FUZZ_ASSERT(size < room);
	data[0] = (uint8) kind;
	memcpy(data + 1, page + SKX_PAGE_START, size);
	return size + 1;
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	FuzzInput	in = {data, data + size};
	const UnitKind *kind = &unit_kinds[fuzz_u8(&in) % lengthof(unit_kinds)];
	SkxPageIdentity id = {1, 9, 0, SKX_PLANE_DICT};
	size_t		used = in.end - in.at;
	char	   *page = malloc(BLCKSZ);

	if (used > SKX_PAGE_CAPACITY)
		used = SKX_PAGE_CAPACITY;
	skx_disk_page_init(page, &id);
	memcpy(page + SKX_PAGE_START, in.at, used);
	skx_disk_page_seal(page, used);
	FUZZ_ASSERT(skx_disk_page_check(page, &id) == NULL);
	unit_setup(kind, page);
	kind->check(page);
	free(page);
	return 0;
}
