/*
 * segment_dict_internal.h
 *	  Declarations that the files which read a segment's dictionary share
 *	  (disk_dict.h).
 */
#ifndef SKX_SEGMENT_DICT_INTERNAL_H
#define SKX_SEGMENT_DICT_INTERNAL_H

#include "format/disk/disk_dict.h"
#include "index/segment/segment_maint.h"

/* A cursor on an entry of a dictionary page, with the entry's key decoded. */
typedef struct SkxDictCursor
{
	SkxSegment *seg;
	uint32		ordinal;		/* of the page */
	const char *page;			/* pinned by seg->dict_ref, or a copy */
	const SkxDiskDictPage *head;
	const uint8 *value;			/* of the current entry */
	const uint8 *next;			/* the entry after it, NULL: not known */
	int			entry;			/* number of the current entry on the page */
	uint32		shared;			/* bytes of the key that are those of the key
								 * before */
	int			keylen;
	char		key[SKX_LEXEME_MAX];
} SkxDictCursor;

/* Returns the end of the entries of the current page. */
static inline const uint8 *
skx_segment_dict_end(const SkxDictCursor *c)
{
	return (const uint8 *) c->page + c->head->restarts;
}

/* segment_dict_reader.c : moves a cursor on pages of the dictionary */

/*
 * Raises ERRCODE_INDEX_CORRUPTED with the file block of the current page, and
 * `what` as detail.
 */
SKX_NORETURN extern void skx_segment_dict_damaged(SkxDictCursor *c,
												  const char *what);

/*
 * Pins page `ordinal` of the dictionary and checks its head.  The cursor is
 * on no entry of it.  seg->dict_ref has the pin, so that one page of a
 * segment's dictionary is pinned at a time.
 */
extern void skx_segment_dict_pin_page(SkxDictCursor *c, uint32 ordinal);

/* Unpins the current page if the backend holds many pins. */
extern void skx_segment_dict_unpin_if_crowded(SkxSegment *seg);

/*
 * Goes down one level for n ascending lexemes.  pages[i] is the page of
 * lexeme i on `level`, and is replaced by its page on the level below.  With
 * level -1 pages is not set yet, and the descent begins at the root.
 * Prefetches the new pages together if there are at least `least` and the
 * segment is not warm.  Returns the level of the pages in `pages`, 0 if they
 * are leaves.  The cursor stays on the last page that was read, which need
 * not be one of these.
 */
extern int	skx_segment_dict_next_level(SkxDictCursor *c,
										const SkxLexeme *lexemes,
										int n, uint32 *pages, int level,
										int least);

/*
 * Moves to restart entry number `restart` of the page.  Each
 * SKX_DICT_RESTART_ENTRIES-th entry is one.
 */
extern void skx_segment_dict_restart(SkxDictCursor *c, int restart);

/*
 * Moves to the last restart entry of the page whose key is <= the lexeme, or
 * to entry 0 if there is none.
 */
extern void skx_segment_dict_bisect_restarts(SkxDictCursor *c,
											 const char *lexeme, int len);

/*
 * Compares the current key with a lexeme: the result is negative, 0 or
 * positive as that of memcmp.
 */
extern int	skx_segment_dict_compare(const SkxDictCursor *c,
									 const char *lexeme, int len);

/*
 * Moves to the first entry of the leaf, from the current one on, that is not
 * below the lexeme, and decodes its key.  Returns false if there is none.  The
 * entries in between are not decoded.
 */
extern bool skx_segment_dict_forward(SkxDictCursor *c, const char *lexeme,
									 int len);

/*
 * Goes from the root to the leaf of the lexeme, on no entry of it.  Copies the
 * page above the leaf, if there is one, to `parent`, of BLCKSZ bytes, unless
 * that is NULL.
 */
extern void skx_segment_dict_descend(SkxDictCursor *c, const char *lexeme,
									 int len, char *parent);

/*
 * Returns the child of an inner page in which the lexeme must lie if it is one
 * of the page's: that of the last entry whose key is <= the lexeme, or of
 * entry 0.  Sets *covers to false if the lexeme may be another page's.
 */
extern uint32 skx_segment_dict_child(SkxDictCursor *c, const char *lexeme,
									 int len, bool *covers);

/*
 * Decodes the current entry of a leaf into *t and sets c->next to the entry
 * after it.  Raises an error if the entry is damaged.
 */
extern void skx_segment_dict_term(SkxDictCursor *c, SkxTerm *t);

/*
 * Decodes df, flags and npositions of the current entry of a leaf into *t, and
 * no other fields.  Raises an error if these are damaged.
 */
extern void skx_segment_dict_counts(SkxDictCursor *c, SkxTerm *t);

/*
 * Moves to the next entry of the page, and returns false if there is none.
 * The current entry need not have been decoded.
 */
extern bool skx_segment_dict_next_entry(SkxDictCursor *c);

/*
 * Moves to the first entry of the next leaf in lexeme order, and returns
 * false if there is none.
 */
extern bool skx_segment_dict_next_leaf(SkxDictCursor *c);

/* segment_dict_visit.c : ranges of terms */

/*
 * Goes to the leaf of ends[0], on no entry of it, and returns the page after
 * the leaf of ends[1].  The pages of both ends on a level are prefetched
 * together if at least `least` of them differ; 3 prevents that.  The segment
 * must have terms.
 */
extern uint32 skx_segment_dict_range(SkxDictCursor *c,
									 const SkxLexeme ends[2], int least);

/*
 * Copies the documents of the current entry of a leaf into docs, SKX_SUBBLOCK
 * at most, and returns how many there are.  Sets c->next.  Returns 0, and
 * leaves c->next alone, if the entry is damaged or its term does not satisfy
 * skx_segment_list_is_inline().
 */
extern int	skx_segment_dict_documents(SkxDictCursor *c, uint32 *docs);

#endif							/* SKX_SEGMENT_DICT_INTERNAL_H */
