/*
 * autoprewarm_notes.c
 *	  What was in the cache, as bytes.
 *
 * Pages are named as in the cache, by segment, plane and ordinal, and not by
 * blocks.  No such name is ever reused.  So notes that are too old name pages
 * that do not exist, and never other ones.
 *
 * A group is: number of its index, plane, use count, salt and number of the
 * segment, then stretches.  A stretch is its distance from the end of the one
 * before, and its length; length 0 ends the group.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "lib/stringinfo.h"
#include "port/pg_crc32c.h"
#include "sql/autoprewarm/autoprewarm_internal.h"

#define SKX_AUTOPREWARM_MAGIC		0x584B5357
#define SKX_AUTOPREWARM_VERSION		1

typedef struct SkxAutoprewarmHeader
{
	uint32		magic;
	uint32		version;
	uint32		block_size;
	uint32		nindexes;
	uint64		size;			/* bytes of all */
	pg_crc32c	crc;			/* of what follows the header */
	uint32		padding;
} SkxAutoprewarmHeader;

StaticAssertDecl(sizeof(SkxAutoprewarmHeader) == 32 &&
				 sizeof(SkxBlkKnownIndex) == 16,
				 "the notes must have no hidden bytes");

/* Most bytes of the head of a group, and of a stretch with the group's end. */
#define SKX_AUTOPREWARM_GROUP_BYTES		(2 + 8 + 2 * SKX_VARINT32_MAX)
#define SKX_AUTOPREWARM_STRETCH_BYTES	(2 * SKX_VARINT32_MAX + 2)

static void
skx_autoprewarm_put32(StringInfo buf, uint32 value)
{
	uint8		bytes[SKX_VARINT32_MAX];

	appendBinaryStringInfo(buf, (char *) bytes,
						   skx_codec_varint32_put(bytes, value) - bytes);
}

/*
 * Returns the number of the first index with this incarnation, or -1 if it is
 * not known.
 */
static int
skx_autoprewarm_find(const SkxBlkKnownIndex *indexes, int n,
					 uint64 incarnation)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (indexes[middle].incarnation < incarnation)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && indexes[low].incarnation == incarnation ? low : -1;
}

/* Returns true if two frames belong to the same group. */
static bool
skx_autoprewarm_same_group(const SkxBlkContent *a, const SkxBlkContent *b)
{
	return a->uses == b->uses && a->key.incarnation == b->key.incarnation &&
		a->key.salt == b->key.salt && a->key.segment == b->key.segment &&
		a->key.plane == b->key.plane;
}

/*
 * Appends the group of the first of n frames, and returns how many frames it
 * has.  `index` is the number of their index.
 */
static int
skx_autoprewarm_put_group(StringInfo buf, const SkxBlkContent *frames, int n,
						  int index)
{
	uint64		end = 0;
	int			i = 0;

	skx_autoprewarm_put32(buf, (uint32) index);
	appendStringInfoChar(buf, (char) frames->key.plane);
	appendStringInfoChar(buf, (char) frames->uses);
	appendBinaryStringInfo(buf, (const char *) &frames->key.salt,
						   sizeof(frames->key.salt));
	skx_autoprewarm_put32(buf, frames->key.segment);
	while (i < n && skx_autoprewarm_same_group(frames, &frames[i]) &&
		   buf->len + SKX_AUTOPREWARM_STRETCH_BYTES <=
		   SKX_AUTOPREWARM_MAX_BYTES)
	{
		uint32		first = frames[i].key.ordinal;
		uint64		next = (uint64) first + frames[i].npages;

		/* a page that was evicted and read again meanwhile is there twice */
		if (first < end)
		{
			i++;
			continue;
		}
		for (i++; i < n && skx_autoprewarm_same_group(frames, &frames[i]) &&
			 frames[i].key.ordinal == next; i++)
			next += frames[i].npages;
		skx_autoprewarm_put32(buf, (uint32) (first - end));
		skx_autoprewarm_put32(buf, (uint32) (next - first));
		end = next;
	}
	skx_autoprewarm_put32(buf, 0);
	skx_autoprewarm_put32(buf, 0);
	return i;
}

static pg_crc32c
skx_autoprewarm_crc(const uint8 *bytes, Size size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, bytes + sizeof(SkxAutoprewarmHeader),
				size - sizeof(SkxAutoprewarmHeader));
	FIN_CRC32C(crc);
	return crc;
}

uint8 *
skx_autoprewarm_encode(const SkxBlkKnownIndex *indexes, int nindexes,
					   const SkxBlkContent *frames, int nframes, Size *size)
{
	SkxAutoprewarmHeader header = {0};
	StringInfoData buf;
	int			i = 0;

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, (char *) &header, sizeof(header));
	appendBinaryStringInfo(&buf, (const char *) indexes,
						   nindexes * sizeof(*indexes));
	while (i < nframes &&
		   buf.len + SKX_AUTOPREWARM_GROUP_BYTES +
		   SKX_AUTOPREWARM_STRETCH_BYTES <= SKX_AUTOPREWARM_MAX_BYTES)
	{
		int			index = skx_autoprewarm_find(indexes, nindexes,
												 frames[i].key.incarnation);

		if (index < 0)
			i++;
		else
			i += skx_autoprewarm_put_group(&buf, &frames[i], nframes - i,
										   index);
	}
	header.magic = SKX_AUTOPREWARM_MAGIC;
	header.version = SKX_AUTOPREWARM_VERSION;
	header.block_size = BLCKSZ;
	header.nindexes = nindexes;
	header.size = buf.len;
	header.crc = skx_autoprewarm_crc((uint8 *) buf.data, buf.len);
	memcpy(buf.data, &header, sizeof(header));
	*size = buf.len;
	return (uint8 *) buf.data;
}

const char *
skx_autoprewarm_decode(const uint8 *bytes, Size size,
					   SkxAutoprewarmNotes *notes)
{
	const SkxAutoprewarmHeader *header = (const SkxAutoprewarmHeader *) bytes;
	Size		begin;

	if (size < sizeof(*header) || header->magic != SKX_AUTOPREWARM_MAGIC)
		return "it is of another kind";
	if (header->version != SKX_AUTOPREWARM_VERSION)
		return "it is of another version";
	if (header->block_size != BLCKSZ)
		return "it is of a server with another block size";
	if (header->size != size ||
		header->nindexes > SKX_BLK_KNOWN_INDEXES_MAX ||
		header->nindexes > (size - sizeof(*header)) /
		sizeof(SkxBlkKnownIndex))
		return "its length is wrong";
	if (header->crc != skx_autoprewarm_crc(bytes, size))
		return "its checksum is wrong";
	begin = sizeof(*header) + header->nindexes * sizeof(SkxBlkKnownIndex);
	memset(notes, 0, sizeof(*notes));
	notes->indexes = (const SkxBlkKnownIndex *) (bytes + sizeof(*header));
	notes->nindexes = header->nindexes;
	notes->next = bytes + begin;
	notes->end = bytes + size;
	notes->page = PG_UINT64_MAX;
	return NULL;
}

/* Reads a 32-bit integer; returns false at the end. */
static bool
skx_autoprewarm_get32(SkxAutoprewarmNotes *notes, uint32 *value)
{
	const uint8 *next = skx_codec_varint32_get(notes->next, notes->end, value);

	if (next != NULL)
		notes->next = next;
	return next != NULL;
}

/* Reads the head of a group; returns false at the end, or if it is wrong. */
static bool
skx_autoprewarm_get_group(SkxAutoprewarmNotes *notes)
{
	SkxAutoprewarmStretch *last = &notes->last;

	if (!skx_autoprewarm_get32(notes, &last->index) ||
		notes->end - notes->next < 2 + sizeof(last->salt))
		return false;
	last->plane = *notes->next++;
	last->uses = *notes->next++;
	memcpy(&last->salt, notes->next, sizeof(last->salt));
	notes->next += sizeof(last->salt);
	notes->page = 0;
	return skx_autoprewarm_get32(notes, &last->segment) &&
		last->index < notes->nindexes && last->uses <= SKX_BLK_USE_COUNT_MAX;
}

bool
skx_autoprewarm_next(SkxAutoprewarmNotes *notes,
					 SkxAutoprewarmStretch *stretch)
{
	uint32		gap;
	uint32		npages;

	for (;;)
	{
		if (notes->page == PG_UINT64_MAX && !skx_autoprewarm_get_group(notes))
			break;
		if (!skx_autoprewarm_get32(notes, &gap) ||
			!skx_autoprewarm_get32(notes, &npages))
			break;
		if (npages == 0)
		{
			notes->page = PG_UINT64_MAX;
			continue;
		}
		if (notes->page + gap + npages > PG_UINT32_MAX)
			break;
		notes->last.first = (uint32) notes->page + gap;
		notes->last.npages = npages;
		notes->page += (uint64) gap + npages;
		*stretch = notes->last;
		return true;
	}
	notes->next = notes->end;
	notes->page = PG_UINT64_MAX;
	return false;
}
