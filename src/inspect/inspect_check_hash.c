/*
 * inspect_check_hash.c
 *	  Computes fingerprints of documents.
 *
 * The postings of a segment are read term by term, and the rows of a table
 * document by document.  A fingerprint is a sum of hashes, one for each lexeme
 * with its positions and labels.  So it is the same in either order.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "inspect/inspect_internal.h"

/* Any constant except 0, which hash_bytes_extended() takes for "no seed". */
#define SKX_HASH_SEED	UINT64CONST(0x736B6978636865)

uint64
skx_inspect_hash_lexeme(const char *lexeme, int len)
{
	return hash_bytes_extended((const unsigned char *) lexeme, len,
							   SKX_HASH_SEED);
}

uint64
skx_inspect_hash_positions(uint64 lexeme_hash, const uint16 *positions, int n)
{
	return hash_bytes_extended((const unsigned char *) positions,
							   n * sizeof(uint16), lexeme_hash);
}

uint64
skx_inspect_hash_vector(TSVector value)
{
	const WordEntry *entries;
	uint64		sum = 0;
	int			i;

	entries = ARRPTR(value);
	for (i = 0; i < value->size; i++)
	{
		const WordEntry *entry = &entries[i];
		uint64		hash = skx_inspect_hash_lexeme(STRPTR(value) + entry->pos,
												   entry->len);
		const uint16 *positions = NULL;
		int			n = 0;

		if (entry->haspos)
		{
			positions = POSDATAPTR(value, entry);
			n = POSDATALEN(value, entry);
		}
		sum += skx_inspect_hash_positions(hash, positions, n);
	}
	return sum;
}
