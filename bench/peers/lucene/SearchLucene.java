// SearchLucene DIR QUERIES: searches an index of BuildLucene by BM25, as
// standard input says, one thread.  QUERIES: lines of `words TAB distinct words`,
// at spaces.  A line `MODE K REPETITIONS WARM [CONDITION]` runs all of them as MODE
// (AND, OR, PHRASE) for the best K, or with K 0 counts what matches: as often as
// fits into WARM seconds, at least once, untimed, then REPETITIONS times; the
// answer is one JSON object with the least time of each, in microseconds, and its
// number of results; with REPETITIONS 0 it has the ids of the results instead.
// CONDITION, which takes no part in scores: `name:k:word`, one of several words
// with commas between, or a range of numbers, `name:i:least:most` and `name:l:..`,
// `*` for no limit.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.LongField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;

public class SearchLucene {
	static final String FIELD = "text";

	static Query condition(String text) {
		String[] parts = text.split(":");
		if (parts[1].equals("k") && parts[2].contains(",")) {
			List<BytesRef> words = new ArrayList<>();
			for (String word : parts[2].split(","))
				words.add(new BytesRef(word));
			return new TermInSetQuery(parts[0], words);
		}
		if (parts[1].equals("k"))
			return new TermQuery(new Term(parts[0], parts[2]));
		boolean below = parts[2].equals("*"), above = parts[3].equals("*");
		if (parts[1].equals("i"))
			return IntField.newRangeQuery(parts[0],
				below ? Integer.MIN_VALUE : Integer.parseInt(parts[2]),
				above ? Integer.MAX_VALUE : Integer.parseInt(parts[3]));
		return LongField.newRangeQuery(parts[0],
			below ? Long.MIN_VALUE : Long.parseLong(parts[2]),
			above ? Long.MAX_VALUE : Long.parseLong(parts[3]));
	}

	/** The condition beside the words, not around them: what Lucene has most
	 * shortcuts for. */
	static Query filtered(Query query, Query condition) {
		BooleanQuery.Builder builder = new BooleanQuery.Builder();
		boolean optional = false;
		if (query instanceof BooleanQuery)
			for (BooleanClause clause : ((BooleanQuery) query).clauses()) {
				builder.add(clause);
				optional |= clause.occur() == BooleanClause.Occur.SHOULD;
			}
		else
			builder.add(query, BooleanClause.Occur.MUST);
		if (optional)
			builder.setMinimumNumberShouldMatch(1);
		return builder.add(condition, BooleanClause.Occur.FILTER).build();
	}

	static Query make(String mode, String[] line) {
		String[] words = line[mode.equals("PHRASE") ? 0 : 1].split(" ");
		if (words.length == 1)
			return new TermQuery(new Term(FIELD, words[0]));
		if (mode.equals("PHRASE"))
			return new PhraseQuery(FIELD, words);
		BooleanQuery.Builder builder = new BooleanQuery.Builder();
		for (String word : words)
			builder.add(new TermQuery(new Term(FIELD, word)),
				mode.equals("AND") ? BooleanClause.Occur.MUST
					: BooleanClause.Occur.SHOULD);
		return builder.build();
	}

	static int search(IndexSearcher searcher, Query query, int k)
			throws IOException {
		if (k == 0)
			return searcher.count(query);
		return searcher.search(query, new TopScoreDocCollectorManager(k, null,
			k)).scoreDocs.length;
	}

	/** The ids of the best, as lists in JSON. */
	static String rows(IndexSearcher searcher, List<Query> queries, int k)
			throws IOException {
		StoredFields stored = searcher.storedFields();
		List<List<String>> all = new ArrayList<>();
		for (Query query : queries) {
			List<String> ids = new ArrayList<>();
			for (ScoreDoc one : searcher.search(query,
					new TopScoreDocCollectorManager(k, null, k)).scoreDocs)
				ids.add("\"" + stored.document(one.doc).get("id") + "\"");
			all.add(ids);
		}
		return "{\"rows\": " + all + "}";
	}

	static String run(IndexSearcher searcher, List<String[]> lines,
			String[] command) throws IOException {
		int k = Integer.parseInt(command[1]);
		int repetitions = Integer.parseInt(command[2]);
		double warm = Double.parseDouble(command[3]);
		List<Query> queries = new ArrayList<>();
		for (String[] line : lines)
			queries.add(command.length > 4
				? filtered(make(command[0], line), condition(command[4]))
				: make(command[0], line));
		if (repetitions == 0)
			return rows(searcher, queries, k);
		int n = queries.size();
		int[] hits = new int[n];
		double[] best = new double[n];
		Arrays.fill(best, Double.MAX_VALUE);
		long began = System.nanoTime();
		do {
			for (int i = 0; i < n; i++)
				hits[i] = search(searcher, queries.get(i), k);
		} while ((System.nanoTime() - began) / 1e9 < warm);
		for (int turn = 0; turn < repetitions; turn++)
			for (int i = 0; i < n; i++) {
				long from = System.nanoTime();
				search(searcher, queries.get(i), k);
				best[i] = Math.min(best[i], (System.nanoTime() - from) / 1e3);
			}
		StringBuilder json = new StringBuilder("{\"us\": [");
		for (int i = 0; i < n; i++)
			json.append(i > 0 ? "," : "").append(
				String.format(java.util.Locale.ROOT, "%.1f", best[i]));
		return json.append("], \"hits\": ").append(Arrays.toString(hits))
			.append("}").toString();
	}

	public static void main(String[] args) throws Exception {
		List<String[]> lines = new ArrayList<>();
		for (String line : Files.readAllLines(Path.of(args[1])))
			lines.add(line.split("\t"));
		try (DirectoryReader reader = DirectoryReader.open(
				new MMapDirectory(Path.of(args[0])))) {
			IndexSearcher searcher = new IndexSearcher(reader);
			searcher.setQueryCache(null);
			searcher.setSimilarity(new BM25Similarity(1.2f, 0.75f));
			BufferedReader input =
				new BufferedReader(new InputStreamReader(System.in));
			for (String line; (line = input.readLine()) != null;)
				System.out.println(run(searcher, lines, line.split(" ")));
		}
	}
}
