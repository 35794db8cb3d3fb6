/*
 * disk_format.h
 *	  Which releases can read a file: the first bytes of the metapage and of
 *	  each segment's header.
 *
 * Their layout is the same in all formats, so any release can tell whether it
 * knows a file.  The format number rises only for what a reader must know
 * before it reads anything; all else is a feature, with a bit of one of three
 * kinds.  A bit or number keeps its meaning for good.
 */
#ifndef SKX_DISK_FORMAT_H
#define SKX_DISK_FORMAT_H

#define SKX_MAGIC			0x736B6978	/* "skix" */

/* A release as a number: 1.2 is 10200, and 1.2.3 is 10203. */
#define SKX_RELEASE_NUMBER(major, minor) ((major) * 10000 + (minor) * 100)

/*
 * This release, and the formats that it reads.  With SKX_TEST_LATER it is a
 * later release, for tests of what that writes (test/t/630_formats.pl).
 */
#ifndef SKX_TEST_LATER
#define SKX_RELEASE			SKX_RELEASE_NUMBER(1, 0)
#define SKX_FORMAT_NEWEST	5
#else
#define SKX_RELEASE			SKX_RELEASE_NUMBER(1, 4)
#define SKX_FORMAT_NEWEST	6
#endif
#define SKX_FORMAT_OLDEST	5	/* of release 1.0 */

/*
 * Features that may be ignored.  SKX_FEATURE_PREFIXES: a segment may have
 * lists of prefixes (disk_segment.h).
 */
#define SKX_FEATURE_PREFIXES	((uint32) 1)

/* What a file, or a segment, asks of releases that read and write it. */
typedef struct SkxDiskFormat
{
	uint32		magic;			/* SKX_MAGIC */
	uint32		number;			/* of the format */
	uint32		oldest_reader;	/* oldest release that can read it */
	uint32		writer;			/* release that wrote these fields */
	/* features, one bit each: */
	uint32		may_ignore;		/* a release that does not know one reads and
								 * writes without it */
	uint32		may_read;		/* such a release can read, but not write */
	uint32		must_know;		/* such a release can do neither */
	uint32		crc;			/* CRC-32C of the fields before */
} SkxDiskFormat;

StaticAssertDecl(sizeof(SkxDiskFormat) == 32, "format size");

/* What this release can do with a file. */
typedef enum SkxFormatUse
{
	SKX_FORMAT_WRITE,			/* read and write it */
	SKX_FORMAT_READ,			/* read it only */
	SKX_FORMAT_LATER,			/* nothing: it needs a later release */
	SKX_FORMAT_EARLY,			/* nothing: it is older than release 1.0 */
	SKX_FORMAT_DAMAGED			/* nothing: the fields are damaged */
} SkxFormatUse;

/* disk_format.c : pure functions */

/* Returns what this release can do with a file that begins so. */
extern SkxFormatUse skx_disk_format_use(const SkxDiskFormat *format);

/*
 * Sets *format to the newest one that `release` wrote, as far as this release
 * knows it, with a number of at most `most`.  A release before 1.0 counts as
 * 1.0.
 */
extern void skx_disk_format_of(uint32 release, uint32 most,
							   SkxDiskFormat *format);

/* Returns true if a file of *format may have all that `part` has. */
extern bool skx_disk_format_covers(const SkxDiskFormat *format,
								   const SkxDiskFormat *part);

/*
 * Adds to *format what `part` has, so that it covers that.  A reader needs the
 * later one of the two oldest readers.
 */
extern void skx_disk_format_add(SkxDiskFormat *format,
								const SkxDiskFormat *part);

/*
 * Returns the release that a text is, or is on the way to ("1.2", "1.2.3",
 * "1.2dev"); 0 if it is none.
 */
extern uint32 skx_disk_release_parse(const char *text);

/* Room for the text of a release. */
#define SKX_RELEASE_TEXT	32

/* Writes a release as text, and returns `text`. */
extern char *skx_disk_release_print(uint32 release,
									char text[SKX_RELEASE_TEXT]);

#endif							/* SKX_DISK_FORMAT_H */
