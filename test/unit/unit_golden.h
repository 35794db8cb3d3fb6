/*
 * unit_golden.h
 *	  Golden pages: files of hex in test/golden/v5/, one for each kind of page.
 *
 * A line is the offset of 32 bytes and those bytes; lines of zeros are left
 * out.  With UNIT_GOLDEN=write in the environment a test writes the files
 * instead of comparing them.
 */
#ifndef SKX_TEST_UNIT_GOLDEN_H
#define SKX_TEST_UNIT_GOLDEN_H

#include "unit.h"

#define UNIT_GOLDEN_DIR		"../golden/v5/"
#define UNIT_GOLDEN_LINE	32

static inline FILE *
unit_golden_open(const char *name, const char *mode)
{
	char		path[200];
	FILE	   *file;

	snprintf(path, sizeof(path), UNIT_GOLDEN_DIR "%s.hex", name);
	file = fopen(path, mode);
	if (file == NULL)
	{
		perror(path);
		exit(1);
	}
	return file;
}

static inline void
unit_golden_write(const char *name, const char *page)
{
	static const char zeros[UNIT_GOLDEN_LINE];
	FILE	   *file = unit_golden_open(name, "w");
	int			at;
	int			i;

	for (at = 0; at < BLCKSZ; at += UNIT_GOLDEN_LINE)
	{
		if (memcmp(page + at, zeros, sizeof(zeros)) == 0)
			continue;
		fprintf(file, "%04x ", at);
		for (i = 0; i < UNIT_GOLDEN_LINE; i++)
			fprintf(file, "%02x", (uint8) page[at + i]);
		fprintf(file, "\n");
	}
	fclose(file);
}

static inline void
unit_golden_read(const char *name, char *page)
{
	FILE	   *file = unit_golden_open(name, "r");
	unsigned int at;
	unsigned int byte;
	int			i;

	memset(page, 0, BLCKSZ);
	while (fscanf(file, "%4x", &at) == 1)
	{
		for (i = 0; i < UNIT_GOLDEN_LINE; i++)
		{
			if (at + i >= BLCKSZ || fscanf(file, "%2x", &byte) != 1)
			{
				fprintf(stderr, "%s: damaged golden file\n", name);
				exit(1);
			}
			page[at + i] = (char) byte;
		}
	}
	fclose(file);
}

/* Compares a page with its golden file, or writes that. */
static inline void
unit_golden(const char *name, const char *page)
{
	const char *mode = getenv("UNIT_GOLDEN");
	char		golden[BLCKSZ];
	int			i;

	if (mode != NULL && strcmp(mode, "write") == 0)
		unit_golden_write(name, page);
	unit_golden_read(name, golden);
	for (i = 0; i < BLCKSZ && golden[i] == page[i]; i++)
		 /* look for the first difference */ ;
	if (i < BLCKSZ)
		fprintf(stderr, "golden page %s differs from byte %d on\n", name, i);
	CHECK(i == BLCKSZ);
}

#endif							/* SKX_TEST_UNIT_GOLDEN_H */
