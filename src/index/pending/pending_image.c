/*
 * pending_image.c
 *	  Keeps copies of pending documents that the session has read several
 *	  times, and a table of their lexemes.
 *
 * Every query goes through all pending documents.  Between two queries few
 * documents come, and the others do not change, except that VACUUM flags some
 * as dead.  For most documents a query needs to know only whether they have
 * one of its lexemes.  It looks its lexemes up in the table, goes through the
 * documents that have one, and reads only later documents from the list.
 *
 * A copy is valid as long as the session lives.  In one incarnation of an
 * index in one file, a stripe gives each number to one document only, even if
 * that is rolled back or flushed.  The stripe page counts the documents that
 * are dead.  The file counts because an index goes on in its old file if the
 * transaction that has moved it is rolled back.
 *
 * To copy a document takes several times as long as to read it.  So a session
 * copies documents once it has gone through them SKX_IMAGE_READS_MIN times.  A
 * count or a scan goes through them once.  A ranked search does so three
 * times: twice for its lexemes, and then for its hits.  A session with a
 * single query has no costs.
 *
 * All images of a session take at most SKX_IMAGE_MEMORY_MAX.  Documents that
 * do not fit are read from the list by every query.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "format/rank/rank.h"
#include "index/pending/pending_internal.h"
#include "miscadmin.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/memutils.h"

/*
 * Memory budget of all images.  1,500 documents of 80 words take 3.3 MB with
 * the table of their lexemes.
 */
#define SKX_IMAGE_MEMORY_MAX	(4 * 1024 * 1024)

/* A part of it that documents leave to images without any. */
#define SKX_IMAGE_MEMORY_OTHERS		(SKX_IMAGE_MEMORY_MAX / 16)

/* Number of times that documents are gone through before they are copied. */
#define SKX_IMAGE_READS_MIN	4

/* Memory for a document and its lexemes, as a multiple of its size. */
#define SKX_IMAGE_SIZE_FACTOR	6

/* An image may be dropped for another after so many uses of other images. */
#define SKX_IMAGE_UNUSED_MAX	64

typedef struct SkxImageDoc
{
	TSVector	value;
	uint64		sequence;
	ItemPointerData tid;
	bool		dead;
	uint32		stripe;
} SkxImageDoc;

/* Documents first .. next - 1 of a stripe, which the image has. */
typedef struct SkxImageStripe
{
	uint64		first;
	uint64		next;
	uint64		ndead;			/* dead documents of the stripe when the
								 * oldest of them was copied */
	uint64		reads;			/* of documents that the image lacks */
	uint64		page_sequence;	/* first number of the last page that was
								 * read, 0: none */
	BlockNumber page;
	uint32	   *docs;			/* indexes in the image's docs, from document
								 * `first` on; NULL: none */
	uint8	   *norms;			/* of their lengths */
	uint32		docs_size;		/* capacity of docs and norms */
} SkxImageStripe;

/* A posting: the index of a document in the image, and its tf. */
#define SKX_IMAGE_POSTING(doc, tf)	((doc) << 8 | (tf))
#define SKX_IMAGE_POSTING_DOC(p)	((p) >> 8)
#define SKX_IMAGE_POSTING_TF(p)		((p) & 0xff)

StaticAssertDecl(SKX_IMAGE_MEMORY_MAX / sizeof(SkxImageDoc) < 1 << 24,
				 "numbers of documents have 24 bits");
StaticAssertDecl(SKX_PENDING_TF_MAX == 0xff, "and frequencies 8");

/*
 * A lexeme of the table with its n postings, which ascend.  If n is 1, the
 * posting itself is stored, else a pointer to a list of them.
 */
typedef struct SkxImageWord
{
	SkxLexeme	lexeme;			/* bytes of the first document that has it */
	uint32		hash;
	uint32		n;
	union
	{
		uint32		single_posting;
		uint32	   *posting_list;	/* its capacity is the least power of two
									 * that is not below n */
	}			postings;
	char		status;
} SkxImageWord;

static inline uint32
skx_image_hash(SkxLexeme lexeme)
{
	return hash_bytes((const unsigned char *) lexeme.bytes, lexeme.len);
}

static inline bool
skx_image_equal(SkxLexeme a, SkxLexeme b)
{
	return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

#define SH_PREFIX			skx_image_words
#define SH_ELEMENT_TYPE		SkxImageWord
#define SH_KEY_TYPE			SkxLexeme
#define SH_KEY				lexeme
#define SH_HASH_KEY(tb, key)	skx_image_hash(key)
#define SH_EQUAL(tb, a, b)	skx_image_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a)	(a)->hash
#define SH_SCOPE			static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

struct SkxPendingImage
{
	SkxSessionEntry entry;
	Size		own_bytes;		/* of this struct */
	MemoryContext context;		/* of documents and lexemes; NULL: none */
	MemoryContext values;
	uint32		ndocs;
	uint32		max_docs;
	SkxImageDoc *docs;
	skx_image_words_hash *words;
	int			nstripes;
	SkxImageStripe stripes[FLEXIBLE_ARRAY_MEMBER];
};

uint64		skx_pending_image_changes;

/* Drops all documents of the image. */
static void
skx_image_clear(SkxPendingImage *image)
{
	if (image->context != NULL)
		MemoryContextDelete(image->context);
	image->context = NULL;
	image->ndocs = 0;
	memset(image->stripes, 0, sizeof(SkxImageStripe) * image->nstripes);
	skx_pending_image_changes++;
}

static void
skx_image_reset(SkxPendingImage *image)
{
	skx_image_clear(image);
	skx_sessioncache_resize(&image->entry, image->own_bytes);
}

static void
skx_image_free(SkxSessionEntry *entry)
{
	SkxPendingImage *image = (SkxPendingImage *) entry;

	skx_image_clear(image);
	pfree(image);
}

/* Images without documents count how often these were read. */
static SkxSessionKind skx_image_kind = {
	.max_entries = 64,
	.max_bytes = SKX_IMAGE_MEMORY_MAX,
	.free_entry = skx_image_free
};

static SkxPendingImage *
skx_image_make(const SkxSessionKey *key, const SkxView *view)
{
	Size		size = offsetof(SkxPendingImage, stripes) +
		sizeof(SkxImageStripe) * view->nstripes;
	SkxPendingImage *image;

	image = MemoryContextAllocZero(skx_sessioncache_context(), size);
	image->own_bytes = size;
	image->nstripes = view->nstripes;
	skx_sessioncache_put(&skx_image_kind, key, &image->entry, size);
	skx_pending_image_changes++;
	return image;
}

/*
 * Returns true if less than half of the image's documents are pending for the
 * view.  Returns false if the view is older than the image.
 */
static bool
skx_image_is_old(const SkxPendingImage *image, const SkxView *view)
{
	uint64		pending = 0;
	int			i;

	for (i = 0; i < image->nstripes; i++)
	{
		const SkxImageStripe *s = &image->stripes[i];
		uint64		begin = view->stripes[i].flushed_through + 1;

		if (begin < s->first)
			return false;
		pending += s->next - Min(s->next, begin);
	}
	return pending < image->ndocs / 2;
}

SkxPendingImage *
skx_pending_image(Relation rel, const SkxView *view)
{
	SkxSessionKey key = skx_sessioncache_key(rel, view->meta.incarnation, 0);
	SkxPendingImage *image = skx_sessioncache_find(&skx_image_kind, &key);

	if (image != NULL && image->nstripes != view->nstripes)
	{
		skx_sessioncache_drop(&image->entry);
		image = NULL;
	}
	if (image == NULL)
		image = skx_image_make(&key, view);
	if (image->ndocs > 0 && skx_image_is_old(image, view))
		skx_image_reset(image);
	return image;
}

static void
skx_image_add_posting(SkxPendingImage *image, SkxImageWord *word, bool found,
					  uint32 posting)
{
	if (!found)
	{
		word->n = 1;
		word->postings.single_posting = posting;
		return;
	}
	if (word->n == 1)
	{
		uint32	   *list = MemoryContextAlloc(image->context,
											  sizeof(uint32) * 2);

		list[0] = word->postings.single_posting;
		word->postings.posting_list = list;
	}
	else if ((word->n & (word->n - 1)) == 0)
		word->postings.posting_list = repalloc(word->postings.posting_list,
											   sizeof(uint32) * 2 * word->n);
	word->postings.posting_list[word->n++] = posting;
}

static void
skx_image_add_words(SkxPendingImage *image, uint32 doc)
{
	TSVector	value = image->docs[doc].value;
	WordEntry  *entries = ARRPTR(value);
	int			i;

	for (i = 0; i < value->size; i++)
	{
		SkxLexeme	lexeme = {STRPTR(value) + entries[i].pos, entries[i].len};
		uint32		tf = skx_pending_tf(value, &entries[i]);
		bool		found;
		SkxImageWord *word = skx_image_words_insert(image->words, lexeme,
													&found);

		skx_image_add_posting(image, word, found, SKX_IMAGE_POSTING(doc, tf));
	}
}

static void
skx_image_begin(SkxPendingImage *image)
{
	MemoryContext context = AllocSetContextCreate(skx_sessioncache_context(),
												  "skipidx pending image",
												  0, 8 * 1024, 64 * 1024);

	image->values = GenerationContextCreate(context, "skipidx pending values",
											0, 8 * 1024, 128 * 1024);
	image->max_docs = 64;
	image->docs = MemoryContextAlloc(context, sizeof(SkxImageDoc) *
									 image->max_docs);
	image->words = skx_image_words_create(context, 256, NULL);
	image->context = context;
}

/*
 * Copies the document that follows the last one of the stripe.  If an error
 * ends this for lack of memory, what was copied has no number in the stripe,
 * and is never used.
 */
static void
skx_image_add(SkxPendingImage *image, int which, const SkxDiskPendingDoc *doc,
			  TSVector value)
{
	SkxImageStripe *s = &image->stripes[which];
	SkxImageDoc *copy;
	uint32		at;

	if (image->ndocs == image->max_docs)
	{
		image->docs = repalloc(image->docs, sizeof(SkxImageDoc) * 2 *
							   image->max_docs);
		image->max_docs *= 2;
	}
	if (s->docs == NULL)
	{
		s->docs_size = 64;
		s->norms = MemoryContextAlloc(image->context, s->docs_size);
		s->docs = MemoryContextAlloc(image->context,
									 sizeof(uint32) * s->docs_size);
	}
	else if (s->next - s->first == s->docs_size)
	{
		s->docs = repalloc(s->docs, sizeof(uint32) * 2 * s->docs_size);
		s->norms = repalloc(s->norms, 2 * s->docs_size);
		s->docs_size *= 2;
	}
	at = image->ndocs++;
	copy = &image->docs[at];
	memset(copy, 0, sizeof(*copy));
	copy->value = MemoryContextAlloc(image->values, VARSIZE(value));
	memcpy(copy->value, value, VARSIZE(value));
	skx_image_add_words(image, at);
	copy->sequence = s->next;
	copy->tid = doc->tid;
	copy->stripe = which;
	copy->dead = (doc->flags & SKX_PENDING_DEAD) != 0;
	s->docs[s->next - s->first] = at;
	s->norms[s->next - s->first] =
		skx_rank_norm_encode(skx_pending_length(value));
	s->next++;
}

/*
 * Returns how many bytes the document and its lexemes may take.  The table of
 * lexemes is copied to one of twice its size when it is nine tenths full, or
 * earlier if many of its entries collide.
 */
static Size
skx_image_document_bytes(const SkxPendingImage *image, TSVector value)
{
	uint64		room = image->words->size;
	Size		size = VARSIZE(value) * SKX_IMAGE_SIZE_FACTOR;

	if (image->words->members + (uint32) value->size >= room / 10 * 7)
		size += room * 2 * sizeof(SkxImageWord);
	return size;
}

/* Tells the cache how large the image has become. */
static void
skx_image_resize(SkxPendingImage *image)
{
	skx_sessioncache_resize(&image->entry, image->own_bytes +
							MemoryContextMemAllocated(image->context, true));
}

/*
 * Returns true if the memory budget has so many bytes left.  Drops images of
 * other indexes for that if they have not been used for long.
 */
static bool
skx_image_has_room(SkxPendingImage *image, Size nbytes)
{
	skx_image_resize(image);
	return skx_sessioncache_make_room(&skx_image_kind, &image->entry,
									  nbytes + SKX_IMAGE_MEMORY_OTHERS,
									  SKX_IMAGE_UNUSED_MAX);
}

/*
 * The walk begins with the page of the image's last document.  If not all
 * documents of that page are pending for the view, it begins with the first
 * page of the list.
 */
void
skx_pending_image_skip(const SkxPendingImage *image, SkxPendingWalk *walk,
					   int which)
{
	const SkxImageStripe *s = &image->stripes[which];
	uint64		flushed = walk->flushed_through;

	Assert(s->next > flushed);
	skx_pending_walk_resume(walk, s->page_sequence, s->page);
	walk->flushed_through = Max(flushed, s->next - 1);
}

/*
 * Copies the documents of the walk's page.  Returns false if the memory budget
 * is used up.
 */
static bool
skx_image_copy_page(SkxPendingImage *image, SkxPendingWalk *walk, int which,
					SkxPendingValue *memory)
{
	SkxDiskPendingDoc *doc;

	while ((doc = skx_pending_walk_record(walk)) != NULL)
	{
		TSVector	value = skx_pending_value(memory, walk, doc);

		if (!skx_image_has_room(image, skx_image_document_bytes(image, value)))
			return false;
		skx_image_add(image, which, doc, value);
	}
	return true;
}

/* Copies the documents of the stripe that the image lacks. */
static void
skx_image_copy_stripe(SkxPendingImage *image, const SkxPendingWalk *from,
					  int which)
{
	SkxImageStripe *s = &image->stripes[which];
	SkxPendingWalk *walk = palloc(sizeof(SkxPendingWalk));
	SkxPendingValue memory = {CurrentMemoryContext, NULL, 0};
	bool		room = true;

	*walk = *from;
	if (image->context == NULL)
		skx_image_begin(image);
	if (s->next == s->first)
		s->ndead = walk->ndead;
	skx_pending_image_skip(image, walk, which);
	while (room && skx_pending_walk_page(walk))
	{
		s->page_sequence = walk->sequence;
		s->page = walk->block;
		room = skx_image_copy_page(image, walk, which, &memory);
	}
	skx_image_resize(image);
	if (memory.chain != NULL)
		pfree(memory.chain);
	pfree(walk);
}

uint64
skx_pending_image_next(SkxPendingImage *image, const SkxPendingWalk *walk,
					   int which, bool dead)
{
	SkxImageStripe *s = &image->stripes[which];
	uint64		begin = walk->flushed_through + 1;

	if (dead && s->next > s->first && s->ndead != walk->ndead)
		skx_image_reset(image);
	if (begin < s->first)
		return begin;
	if (begin >= s->next)
	{
		if (s->next > s->first)
			skx_pending_image_changes++;
		s->first = s->next = begin;
		s->page_sequence = 0;
	}
	if (walk->limit > s->next)
	{
		s->reads += walk->limit - s->next;
		if (s->reads >= SKX_IMAGE_READS_MIN * (walk->limit - s->next))
		{
			s->reads = 0;
			skx_image_copy_stripe(image, walk, which);
		}
	}
	return s->next;
}

void
skx_pending_image_get(const SkxPendingImage *image, int which, uint64 sequence,
					  SkxPendingDoc *doc)
{
	const SkxImageStripe *s = &image->stripes[which];
	const SkxImageDoc *copy;

	Assert(sequence >= s->first && sequence < s->next);
	copy = &image->docs[s->docs[sequence - s->first]];
	Assert(copy->sequence == sequence && copy->stripe == which);
	doc->tid = copy->tid;
	doc->stripe = which;
	doc->sequence = sequence;
	doc->value = copy->value;
	doc->is_dead = copy->dead;
}

const uint8 *
skx_pending_image_norms(const SkxPendingImage *image, int which,
						uint64 sequence)
{
	const SkxImageStripe *s = &image->stripes[which];

	Assert(sequence >= s->first && sequence < s->next);
	return s->norms + (sequence - s->first);
}

/*
 * Brings the image up to date, and sets through[i] to the last document of
 * stripe i that it has, but at most last[i].
 */
static void
skx_image_read_through(SkxPendingImage *image, Relation rel,
					   const SkxView *view, const uint64 *last,
					   uint64 *through)
{
	SkxPendingWalk *walk = palloc(sizeof(SkxPendingWalk));
	int			i;

	for (i = 0; i < view->nstripes; i++)
	{
		uint64		flushed = view->stripes[i].flushed_through;

		through[i] = flushed;
		if (last[i] <= flushed)
			continue;
		skx_pending_walk_begin(walk, rel, view, i);
		through[i] = Min(skx_pending_image_next(image, walk, i, false) - 1,
						 last[i]);
	}
	pfree(walk);
}

void
skx_pending_words(Relation rel, const SkxView *view, const uint64 *last,
				  const SkxLexeme *lexemes, int n, SkxPendingWordVisit found,
				  void *arg, uint64 *through)
{
	SkxPendingImage *image = skx_pending_image(rel, view);
	int			k;

	skx_image_read_through(image, rel, view, last, through);
	for (k = 0; k < n && image->context != NULL; k++)
	{
		const SkxImageWord *word = skx_image_words_lookup(image->words,
														  lexemes[k]);
		uint32		i;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; word != NULL && i < word->n; i++)
		{
			uint32		posting = word->n == 1 ?
				word->postings.single_posting :
				word->postings.posting_list[i];
			const SkxImageDoc *doc =
				&image->docs[SKX_IMAGE_POSTING_DOC(posting)];

			if (doc->sequence <= through[doc->stripe] &&
				doc->sequence > view->stripes[doc->stripe].flushed_through)
				found(k, doc->stripe, doc->sequence,
					  SKX_IMAGE_POSTING_TF(posting), arg);
		}
	}
}
