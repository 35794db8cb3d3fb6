/*
 * disk_format.c
 *	  Which releases can read a file, and what each release writes.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/disk/disk_format.h"
#include "port/pg_crc32c.h"

/* What a release writes. */
typedef struct SkxReleaseFormat
{
	uint32		release;		/* of the SQL objects, which ALTER EXTENSION
								 * installs */
	uint32		number;
	uint32		oldest_reader;
	uint32		may_ignore;
	uint32		may_read;
	uint32		must_know;
} SkxReleaseFormat;

/* Each line is also of the releases after it, up to the next line. */
static const SkxReleaseFormat skx_disk_formats[] = {
	{SKX_RELEASE_NUMBER(1, 0), 5, SKX_RELEASE_NUMBER(1, 0),
	SKX_FEATURE_PREFIXES, 0, 0},
#ifdef SKX_TEST_LATER
	{SKX_RELEASE_NUMBER(1, 1), 5, SKX_RELEASE_NUMBER(1, 0), 3, 0, 0},
	{SKX_RELEASE_NUMBER(1, 2), 5, SKX_RELEASE_NUMBER(1, 0), 3, 1, 0},
	{SKX_RELEASE_NUMBER(1, 3), 5, SKX_RELEASE_NUMBER(1, 3), 3, 1, 1},
	{SKX_RELEASE_NUMBER(1, 4), 6, SKX_RELEASE_NUMBER(1, 4), 3, 1, 1},
#endif
};

static uint32
skx_disk_format_crc(const SkxDiskFormat *format)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, format, offsetof(SkxDiskFormat, crc));
	FIN_CRC32C(crc);
	return crc;
}

/* A number of before 1.0 has no CRC behind it. */
SkxFormatUse
skx_disk_format_use(const SkxDiskFormat *format)
{
	const SkxReleaseFormat *own =
		&skx_disk_formats[lengthof(skx_disk_formats) - 1];

	if (format->magic != SKX_MAGIC)
		return SKX_FORMAT_DAMAGED;
	if (format->crc != skx_disk_format_crc(format))
		return format->number > 0 && format->number < SKX_FORMAT_OLDEST ?
			SKX_FORMAT_EARLY : SKX_FORMAT_DAMAGED;
	if (format->number < SKX_FORMAT_OLDEST)
		return SKX_FORMAT_DAMAGED;
	if (format->number > own->number ||
		format->oldest_reader > SKX_RELEASE ||
		(format->must_know & ~own->must_know) != 0)
		return SKX_FORMAT_LATER;
	return (format->may_read & ~own->may_read) != 0 ?
		SKX_FORMAT_READ : SKX_FORMAT_WRITE;
}

void
skx_disk_format_of(uint32 release, uint32 most, SkxDiskFormat *format)
{
	int			i;

	Assert(most >= SKX_FORMAT_OLDEST);
	for (i = lengthof(skx_disk_formats) - 1; i > 0; i--)
	{
		if (skx_disk_formats[i].release <= release &&
			skx_disk_formats[i].number <= most)
			break;
	}
	format->magic = SKX_MAGIC;
	format->number = skx_disk_formats[i].number;
	format->oldest_reader = skx_disk_formats[i].oldest_reader;
	format->writer = SKX_RELEASE;
	format->may_ignore = skx_disk_formats[i].may_ignore;
	format->may_read = skx_disk_formats[i].may_read;
	format->must_know = skx_disk_formats[i].must_know;
	format->crc = skx_disk_format_crc(format);
}

bool
skx_disk_format_covers(const SkxDiskFormat *format, const SkxDiskFormat *part)
{
	return part->number <= format->number &&
		part->oldest_reader <= format->oldest_reader &&
		(part->may_ignore & ~format->may_ignore) == 0 &&
		(part->may_read & ~format->may_read) == 0 &&
		(part->must_know & ~format->must_know) == 0;
}

void
skx_disk_format_add(SkxDiskFormat *format, const SkxDiskFormat *part)
{
	if (skx_disk_format_covers(format, part))
		return;
	format->number = Max(format->number, part->number);
	format->oldest_reader = Max(format->oldest_reader, part->oldest_reader);
	format->writer = part->writer;
	format->may_ignore |= part->may_ignore;
	format->may_read |= part->may_read;
	format->must_know |= part->must_know;
	format->crc = skx_disk_format_crc(format);
}

/* Returns a number of up to two digits, and moves behind it; -1: none. */
static int
skx_disk_release_part(const char **text)
{
	int			digits = (int) strspn(*text, "0123456789");
	int			part = digits == 0 || digits > 2 ? -1 : atoi(*text);

	*text += digits;
	return part;
}

uint32
skx_disk_release_parse(const char *text)
{
	int			parts[3] = {0, 0, 0};
	int			n = 0;

	for (;;)
	{
		parts[n] = skx_disk_release_part(&text);
		if (parts[n++] < 0)
			return 0;
		if (*text != '.' || n == lengthof(parts))
			break;
		text++;
	}
	text += strspn(text, "-abcdefghijklmnopqrstuvwxyz0123456789");
	if (n < 2 || *text != '\0')
		return 0;
	return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

char *
skx_disk_release_print(uint32 release, char text[SKX_RELEASE_TEXT])
{
	if (release % 100 == 0)
		snprintf(text, SKX_RELEASE_TEXT, "%u.%u", release / 10000,
				 release / 100 % 100);
	else
		snprintf(text, SKX_RELEASE_TEXT, "%u.%u.%u", release / 10000,
				 release / 100 % 100, release % 100);
	return text;
}
