/*
 * segment_dict_internal.h
 *	  Between the files that read a segment's dictionary (disk_dict.h).
 */
#ifndef SKX_SEGMENT_DICT_INTERNAL_H
#define SKX_SEGMENT_DICT_INTERNAL_H

#include "format/disk/disk_dict.h"
#include "index/segment/segment_maint.h"

/* A position on a dictionary page, with its key unfolded. */
typedef struct SkxDictCursor
{
	SkxSegment *seg;
	uint32		ordinal;
	const char *page;
	const SkxDiskDictPage *head;
	const uint8 *value;			/* of the current entry */
	const uint8 *next;			/* the entry after it, NULL: not known */
	int			entry;
	int			keylen;
	char		key[SKX_LEXEME_MAX];
} SkxDictCursor;

/* No entry of the page goes past it. */
static inline const uint8 *
skx_segment_dict_end(const SkxDictCursor *c)
{
	return (const uint8 *) c->page + c->head->restarts;
}

SKX_NORETURN extern void skx_segment_dict_damaged(SkxDictCursor *c,
												  const char *what);

/* enter: a page; it stands nowhere on it.  relax: lets go of it if need be. */
extern void skx_segment_dict_enter(SkxDictCursor *c, uint32 ordinal);
extern void skx_segment_dict_relax(SkxSegment *seg);

/*
 * Takes n lexemes, ascending, from their pages on one level to those on the
 * level below, which are asked for together if there are `least`, or from
 * nowhere (-1) via the root.  Returns the level of the pages, 0 when they are
 * leaves.
 */
extern int	skx_segment_dict_down(SkxDictCursor *c, const SkxLexeme *lexemes,
								  int n, uint32 *pages, int level, int least);

/*
 * restart: stands on a restart entry, by its number.  bisect: stands on the
 * last restart entry whose key is <= the lexeme, or on entry 0.  compare: the
 * current key with a lexeme.  term: the value of the current entry of a leaf;
 * leaves c->next behind it.  step: to the next entry of the page, if there is
 * one; c->next must be known.  next_leaf: to the first entry of the next leaf,
 * if there is one.
 */
extern void skx_segment_dict_restart(SkxDictCursor *c, int restart);
extern void skx_segment_dict_bisect(SkxDictCursor *c, const char *lexeme,
									int len);
extern int	skx_segment_dict_compare(const SkxDictCursor *c,
									 const char *lexeme, int len);
extern void skx_segment_dict_term(SkxDictCursor *c, SkxTerm *t);
extern bool skx_segment_dict_step(SkxDictCursor *c);
extern bool skx_segment_dict_next_leaf(SkxDictCursor *c);

/*
 * segment_dict_visit.c : goes to the first leaf of a range of lexemes, whose
 * ends are asked for together if these are `least` pages.  Returns the page
 * after its last one.
 */
extern uint32 skx_segment_dict_range(SkxDictCursor *c,
									 const SkxLexeme ends[2], int least);
extern int	skx_segment_dict_documents(SkxDictCursor *c, uint32 *docs);

#endif							/* SKX_SEGMENT_DICT_INTERNAL_H */
