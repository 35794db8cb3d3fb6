/*
 * test_disk_format.c
 *	  What a release can do with files of other releases, the names of
 *	  releases, and that the fields are where every release looks for them.
 *
 * Holds: disk 6, 7
 */
#include "unit.h"

#include "format/disk/disk_check.h"

/* The CRC of the fields, bit by bit, so that a file can say anything. */
static uint32
crc_of(const SkxDiskFormat *format)
{
	const uint8 *p = (const uint8 *) format;
	uint32		crc = 0xFFFFFFFF;
	int			i;

	for (i = 0; i < (int) offsetof(SkxDiskFormat, crc) * 8; i++)
	{
		uint32		bit = (crc ^ p[i / 8] >> i % 8) & 1;

		crc = crc >> 1 ^ (bit ? 0x82F63B78 : 0);
	}
	return ~crc;
}

static SkxDiskFormat
own(void)
{
	SkxDiskFormat format;

	memset(&format, 0x55, sizeof(format));
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &format);
	return format;
}

/* What can be done with our own format once `change` was made to it. */
#define USE(change) \
	({ \
		SkxDiskFormat f = own(); \
		change; \
		f.crc = crc_of(&f); \
		skx_disk_format_use(&f); \
	})

static void
test_layout(void)
{
	SkxDiskFormat f = own();
	uint32		words[8];

	memcpy(words, &f, sizeof(f));
	CHECK((words[0]) == (0x736B6978));
	CHECK((words[1]) == (5));
	CHECK((words[2]) == (10000));
	CHECK((words[3]) == (SKX_RELEASE));
	CHECK((words[4]) == (SKX_FEATURE_PREFIXES));
	CHECK((words[5] | words[6]) == (0));
	CHECK((words[7]) == (crc_of(&f)));
	CHECK((offsetof(SkxDiskMeta, format)) == (0));
	CHECK((offsetof(SkxDiskSegment, format)) == (0));
}

static void
test_use(void)
{
	SkxDiskFormat f = own();

	CHECK((USE()) == (SKX_FORMAT_WRITE));
	CHECK((USE(f.number++)) == (SKX_FORMAT_LATER));
	CHECK((USE(f.number = PG_UINT32_MAX)) == (SKX_FORMAT_LATER));
	CHECK((USE(f.number = 4)) == (SKX_FORMAT_DAMAGED));
	CHECK((USE(f.oldest_reader = SKX_RELEASE + 1)) == (SKX_FORMAT_LATER));
	CHECK((USE(f.writer = SKX_RELEASE + 1)) == (SKX_FORMAT_WRITE));
	CHECK((USE(f.may_ignore = 0x80000001)) == (SKX_FORMAT_WRITE));
	CHECK((USE(f.may_read = 0x80000000)) == (SKX_FORMAT_READ));
	CHECK((USE(f.must_know = 0x80000000)) == (SKX_FORMAT_LATER));
	CHECK((USE((f.may_read = 1, f.must_know = 1))) == (SKX_FORMAT_LATER));
	CHECK((USE(f.magic++)) == (SKX_FORMAT_DAMAGED));

	/* before 1.0 the incarnation stood behind the number */
	f.number = 4;
	CHECK((skx_disk_format_use(&f)) == (SKX_FORMAT_EARLY));
	f.number = 0;
	CHECK((skx_disk_format_use(&f)) == (SKX_FORMAT_DAMAGED));
}

/* No flipped bit is taken for a later release, or for our own. */
static void
test_damage(void)
{
	int			i;

	for (i = 0; i < (int) sizeof(SkxDiskFormat) * 8; i++)
	{
		SkxDiskFormat f = own();
		SkxFormatUse use;

		((uint8 *) &f)[i / 8] ^= 1 << i % 8;
		use = skx_disk_format_use(&f);
		CHECK(use == SKX_FORMAT_DAMAGED ||
			  (use == SKX_FORMAT_EARLY && f.number < SKX_FORMAT_OLDEST));
		CHECK(skx_disk_check_format(&f, NULL, 0) != NULL);
	}
}

static void
test_add(void)
{
	SkxDiskFormat f = own();
	SkxDiskFormat later = own();

	CHECK(skx_disk_format_covers(&f, &later));
	later.number = 7;
	later.oldest_reader = 20000;
	later.writer = 20100;
	later.may_ignore = 2;
	later.may_read = 4;
	later.must_know = 8;
	CHECK(!skx_disk_format_covers(&f, &later));
	f.may_ignore = 1;
	skx_disk_format_add(&f, &later);
	CHECK((f.number) == (7));
	CHECK((f.oldest_reader) == (20000));
	CHECK((f.writer) == (20100));
	CHECK((f.may_ignore) == (3));
	CHECK((f.may_read) == (4));
	CHECK((f.must_know) == (8));
	CHECK((f.crc) == (crc_of(&f)));
	CHECK(skx_disk_format_covers(&f, &later));
	later = f;
	f.writer = 20200;
	f.crc = crc_of(&f);
	/* nothing is new, so nothing changes */
	skx_disk_format_add(&f, &later);
	CHECK((f.writer) == (20200));
}

static void
test_check(void)
{
	uint64		reserved[2] = {0, 0};
	SkxDiskFormat f = own();

	CHECK(skx_disk_check_format(&f, reserved, 2) == NULL);
	reserved[1] = 1;
	CHECK(skx_disk_check_format(&f, reserved, 1) == NULL);
	CHECK(skx_disk_check_format(&f, reserved, 2) != NULL);
	/* a feature that is not known here may be what uses it */
	f.may_ignore |= 2;
	f.crc = crc_of(&f);
	CHECK(skx_disk_check_format(&f, reserved, 2) == NULL);
	f = own();
	f.oldest_reader = f.writer + 1;
	f.crc = crc_of(&f);
	CHECK(skx_disk_check_format(&f, NULL, 0) != NULL);
	f.oldest_reader = 9999;
	f.crc = crc_of(&f);
	CHECK(skx_disk_check_format(&f, NULL, 0) != NULL);
}

static void
test_releases(void)
{
	static const struct
	{
		const char *text;
		uint32		release;
	}			texts[] = {
		{"1.0", 10000}, {"1.0dev", 10000}, {"1.2.3", 10203}, {"1.2-rc1", 10200},
		{"12.99.1beta", 129901}, {"1.2.3.4", 0}, {"1.2.x", 0}, {"1.2 ", 0}, {"1.2;", 0},
		{"", 0}, {"1", 0}, {"1.", 0}, {"1..2", 0}, {"x1.0", 0}, {"-1.0", 0},
		{"1.100", 0}, {"4294967297.0", 0}, {"1.2.100", 0},
	};
	char		text[SKX_RELEASE_TEXT];
	int			i;

	for (i = 0; i < (int) lengthof(texts); i++)
		CHECK((skx_disk_release_parse(texts[i].text)) == (texts[i].release));
	CHECK(strcmp(skx_disk_release_print(10200, text), "1.2") == 0);
	CHECK(strcmp(skx_disk_release_print(10203, text), "1.2.3") == 0);
	CHECK(strcmp(skx_disk_release_print(PG_UINT32_MAX, text), "429496.72.95") == 0);
}

int
main(void)
{
	test_layout();
	test_use();
	test_damage();
	test_add();
	test_check();
	test_releases();
	return unit_done("disk_format");
}
