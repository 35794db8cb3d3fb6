/*
 * ranking.h
 *	  A ranking: the words of a query with their statistics and the parameters,
 *	  which are all that a score depends on.
 *
 * A ranking is a struct in memory, packed bytes in values and tokens, or text.
 * What is read from bytes or text is checked with skx_ranking_check() before it
 * is used, since they may come from users.
 */
#ifndef SKX_RANKING_H
#define SKX_RANKING_H

#include "format/rank/rank_score.h"

/* One word of a ranking query. */
typedef struct SkxRankingTerm
{
	const char *lexeme;
	int			len;
	bool		prefix;			/* stands for all lexemes that begin with
								 * `lexeme` */
	uint8		labels;			/* set of labels that count; 0: any */
	int			group;			/* number of its group, from 1; 0: none */
	bool		is_exact;		/* in a group: it was asked for, and the
								 * others stand in for it */
	uint16		count;			/* occurrences in the query, from 1 to
								 * SKX_RANKING_COUNT_MAX */
	double		factor;			/* of its weight, or of its group's */
	uint64		sum;			/* df; of a prefix the sum of the df of its
								 * lexemes */
	uint64		whole;			/* of a prefix: df of the lexeme that is the
								 * prefix itself */
	const char *only;			/* of a prefix: its lexeme if it has just one,
								 * else NULL */
	int			only_len;
	/* set by skx_ranking_weigh(): */
	uint64		df;				/* at most the number of documents */
	double		idf;			/* of its group, if it has one */
	float		weight;			/* count * factor * idf, in units; in a group,
								 * factor * weight of the group */
	float		ceiling;		/* weight that also bounds the contributions
								 * of the pairs of which this is the rarer
								 * word */
} SkxRankingTerm;

/*
 * Most occurrences of a word in a query that count: as many as a tsvector
 * keeps.
 */
#define SKX_RANKING_COUNT_MAX	255

/*
 * Words that count as one.  Of what each of them contributes to a score, the
 * largest counts.  Some were asked for, mostly one; others have been added.
 */
typedef struct SkxRankingGroup
{
	uint16		count;			/* as of a word */
	double		factor;			/* as of a word */
	/* set by skx_ranking_weigh(): */
	double		idf;
} SkxRankingGroup;

/* Most groups, most words of one, and of all of them. */
#define SKX_RANKING_GROUPS_MAX			256
#define SKX_RANKING_GROUP_WORDS_MAX		64
#define SKX_RANKING_GROUPED_WORDS_MAX	1024

/*
 * Two neighbours of a ranking query.  A side is the number of a term that is
 * no prefix and in no group, or minus the number of a group.
 */
typedef struct SkxRankingPair
{
	int			first;			/* before `second` in the query */
	int			second;
	float		weight;			/* in units; follows from those of the terms */
} SkxRankingPair;

/* Most pairs of a query: the first ones count. */
#define SKX_RANKING_PAIRS_MAX	16

typedef struct SkxRanking
{
	SkxRankOptions options;
	uint64		ndocs;			/* documents */
	uint64		length;			/* sum of their lengths */
	int			nterms;
	SkxRankingTerm *terms;		/* in dictionary order, prefixes last; those
								 * of one lexeme by group */
	int			ngroups;
	SkxRankingGroup *groups;	/* in the order of the query */
	int			npairs;
	SkxRankingPair *pairs;
} SkxRanking;

/* Parameters of a ranking that does not name them, as of an index. */
#define SKX_RANKING_K1			1.2
#define SKX_RANKING_B			0.75
#define SKX_RANKING_PROXIMITY	0.1
#define SKX_RANKING_LABEL		1.0

/* Largest k1, proximity, label weight and factor; that of b is 1. */
#define SKX_RANKING_LIMIT		100.0

/* Numbers of documents, and of words in them, are below that. */
#define SKX_RANKING_NUMBER_END	(UINT64CONST(1) << 48)

/* Sums of the df of the lexemes of a prefix are below that. */
#define SKX_RANKING_SUM_END		(UINT64CONST(1) << 62)

/* Most bytes of a lexeme, as in a tsquery. */
#define SKX_RANKING_LEXEME_MAX	2047

/* Most bytes of a packed ranking in a value or token. */
#define SKX_RANKING_BYTES_MAX	16384

/* Most bytes of a text that is read. */
#define SKX_RANKING_TEXT_MAX	(1024 * 1024)

/*
 * ranking_check.c : the order of terms, and whether a ranking may be used
 */

/*
 * Returns a negative number, 0 or a positive one: the order of terms.  Those
 * that are no prefixes come first; both kinds are in dictionary order, and
 * those with the same lexeme in that of their groups.
 */
extern int	skx_ranking_compare(const SkxRankingTerm *a,
								const SkxRankingTerm *b);

/*
 * Names of the words of each pair, while terms have no order yet.  That of a
 * group is NULL.
 */
typedef struct SkxRankingNames
{
	const char *lexeme[SKX_RANKING_PAIRS_MAX][2];
	int			len[SKX_RANKING_PAIRS_MAX][2];
} SkxRankingNames;

/* Sets the names of the words of each pair by the terms' present places. */
extern void skx_ranking_name(const SkxRanking *ranking,
							 SkxRankingNames *names);

/*
 * Puts terms in order, and sets the words of the npairs pairs by their names.
 * Returns false if there is no such word that is not a prefix.  Groups in
 * pairs stay.
 */
extern bool skx_ranking_sort(SkxRanking *ranking,
							 const SkxRankingNames *names);

/*
 * Returns NULL if the ranking is accepted, else a sentence that says why it is
 * not.  Only accepted rankings may be added, packed or printed, or have scores
 * computed by them.  For them sums and bounds agree, and fit an int32.
 */
extern const char *skx_ranking_check(const SkxRanking *ranking);

/*
 * ranking_pair.c : Returns true if positions of a term count on that side of a
 * pair.  It must be the word of the side, or one of its group.  A lexeme that
 * is on both sides counts on the one where it was asked for, or else where its
 * factor is larger, if there is such a one.
 */
extern bool skx_ranking_pair_counts(const SkxRanking *ranking,
									const SkxRankingPair *pair, int term,
									bool is_second);

/*
 * ranking_weigh.c : sets what follows from the numbers: df, idf, weights and
 * ceilings of terms, weights of pairs.  Returns how many units make a score of
 * 1.  The df of a prefix with several lexemes is estimated.
 */
extern double skx_ranking_weigh(SkxRanking *ranking);

/*
 * ranking_add.c : returns false if two rankings differ in more than their
 * statistics: words, labels, occurrences, factors, pairs, or parameters
 */
extern bool skx_ranking_agree(const SkxRanking *a, const SkxRanking *b);

/*
 * Adds the statistics of b to those of a, with which it must agree.  The
 * result is not checked.
 */
extern void skx_ranking_add(SkxRanking *a, const SkxRanking *b);

/*
 * ranking_pack.c : packed bytes
 *
 * A byte with the version (1), then a byte with bits for k1, b, proximity and
 * the weights of D, C, B and A, from the lowest on.  A set bit means that the
 * parameter is not the default and follows, as a double, little-endian.  The
 * highest bit means that there are groups.  Then varints: documents, their
 * length, number of terms, number of pairs; and the number of groups, and for
 * each a byte with the occurrences and its factor as a double, if there are
 * groups.  Then the terms: a byte with flags, varint of the lexeme's bytes and
 * these; occurrences as a byte, if they are several; the factor as a double,
 * if it is not 1; varint of df or sum; for a prefix, varint of `whole`; and
 * for one with one lexeme, varint of its bytes and these.  Flags are: bit 0
 * prefix, bits 1 to 4 labels, bit 5 several occurrences, bit 6 a factor, bit 7
 * one lexeme.  If there are groups, each term ends with a varint: its group
 * times 2, plus 1 if it was asked for.  Then the pairs: varints of the terms'
 * numbers; if there are groups, these times 2, and for a group its number
 * times 2, plus 1.
 */

/* Returns how many bytes skx_ranking_pack() writes. */
extern size_t skx_ranking_packed_size(const SkxRanking *ranking);

/* Writes the ranking, and returns the end of its bytes. */
extern uint8 *skx_ranking_pack(const SkxRanking *ranking, uint8 *dst);

/*
 * Reads the beginning of n bytes: all but groups, terms and pairs, whose
 * numbers it sets.  There are no more terms than n / 3, SKX_RANKING_PAIRS_MAX
 * pairs and SKX_RANKING_GROUPS_MAX groups at most.  Returns where groups
 * begin, or NULL for bytes that are no ranking.
 */
extern const uint8 *skx_ranking_unpack_head(const uint8 *src, size_t n,
											SkxRanking *ranking);

/*
 * Reads groups, terms and pairs into ranking->groups, ranking->terms and
 * ranking->pairs, which have room for them.  Lexemes point into the bytes.
 * Returns false unless they take exactly the bytes from src to `end`.
 */
extern bool skx_ranking_unpack_terms(const uint8 *src, const uint8 *end,
									 SkxRanking *ranking);

/*
 * ranking_print.c, ranking_parse.c : text
 *
 * Items with white space between them: documents=N, length=N, k1=R, b=R,
 * weights={R,R,R,R} (D, C, B, A), proximity=R; words as in a tsquery with
 * their statistics, 'word':*AB(df=N,times=N,factor=R,whole=N,only='word');
 * groups of words, group(times=N,factor=R,'word'(df=N,exact),'word'(df=N)); and
 * pairs near('word','word'), where a group is written by its number, from 1 in
 * the order of groups.  Required are documents, length, and the df of each
 * word.
 */

/* Returns a bound of the bytes that skx_ranking_print() writes. */
extern size_t skx_ranking_print_size(const SkxRanking *ranking);

/* Writes the text with a zero byte at the end. */
extern void skx_ranking_print(const SkxRanking *ranking, char *dst);

/* Returns a bound of the number of terms of a text. */
extern size_t skx_ranking_parse_terms(const char *text);

/*
 * Reads a text.  ranking->terms has room for skx_ranking_parse_terms() terms,
 * ranking->groups for SKX_RANKING_GROUPS_MAX groups, ranking->pairs for
 * SKX_RANKING_PAIRS_MAX pairs, and `bytes`, to which
 * lexemes are copied, for as many bytes as the text has.  Returns NULL if it
 * is one, not checked yet; else a sentence that says why it is none.
 */
extern const char *skx_ranking_parse(const char *text, SkxRanking *ranking,
									 char *bytes);

#endif							/* SKX_RANKING_H */
