// BuildLucene TEXT DIR THREADS [COPY]: indexes lines of `id TAB columns TAB words`
// with positions, by Lucene, and prints one JSON object.  Columns, if any, are at
// spaces, `name:k:word` (a name may have several), `name:i:int`, `name:l:long`.  THREADS 0: one a core,
// since Lucene leaves the number to its caller; with one, it reads as well.
// COPY gets the index in as many segments as are left when merges that Lucene
// began of its own accord are done; DIR is then merged into one.
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.ConcurrentMergeScheduler;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.FSDirectory;

public class BuildLucene {
	static final int BATCH = 500;
	static final int BUFFER_MB = 1024;
	static final List<String> END = new ArrayList<>();

	/** Adds lines, with fields that are used again for each. */
	static class Adder {
		final IndexWriter writer;
		final Document document = new Document();
		final StoredField id = new StoredField("id", "");
		final TextField text = new TextField("text", "", Field.Store.NO);

		Adder(IndexWriter writer) {
			this.writer = writer;
			document.add(id);
			document.add(text);
		}

		/** Ranges of numbers go by points or by values, as Lucene likes. */
		static Field column(String item) {
			String[] parts = item.split(":", 3);
			if (parts[1].equals("i"))
				return new IntField(parts[0], Integer.parseInt(parts[2]),
					Field.Store.NO);
			if (parts[1].equals("l"))
				return new LongField(parts[0], Long.parseLong(parts[2]),
					Field.Store.NO);
			return new StringField(parts[0], parts[2], Field.Store.NO);
		}

		void add(String line) throws IOException {
			String[] parts = line.split("\t", 3);
			id.setStringValue(parts[0]);
			text.setStringValue(parts[2]);
			if (parts[1].isEmpty()) {
				writer.addDocument(document);
				return;
			}
			Document whole = new Document();
			whole.add(id);
			whole.add(text);
			for (String item : parts[1].split(" "))
				whole.add(column(item));
			writer.addDocument(whole);
		}
	}

	static void addAlone(IndexWriter writer, BufferedReader lines)
			throws IOException {
		Adder adder = new Adder(writer);
		for (String line; (line = lines.readLine()) != null;)
			adder.add(line);
	}

	static void addTogether(IndexWriter writer, BufferedReader lines,
			int threads) throws Exception {
		BlockingQueue<List<String>> queue =
			new ArrayBlockingQueue<>(4 * threads);
		List<Thread> running = new ArrayList<>();
		for (int i = 0; i < threads; i++) {
			Thread thread = new Thread(() -> {
				try {
					Adder adder = new Adder(writer);
					for (List<String> batch; (batch = queue.take()) != END;)
						for (String line : batch)
							adder.add(line);
				} catch (Throwable e) {
					e.printStackTrace();
					System.exit(1);
				}
			});
			thread.start();
			running.add(thread);
		}
		List<String> batch = new ArrayList<>(BATCH);
		for (String line; (line = lines.readLine()) != null;) {
			batch.add(line);
			if (batch.size() == BATCH) {
				queue.put(batch);
				batch = new ArrayList<>(BATCH);
			}
		}
		queue.put(batch);
		for (Thread thread : running)
			queue.put(END);
		for (Thread thread : running)
			thread.join();
	}

	static long bytesOf(String directory) {
		long bytes = 0;
		for (File file : new File(directory).listFiles())
			bytes += file.length();
		return bytes;
	}

	/** Returns how many segments it has. */
	static int copy(IndexWriter writer, FSDirectory from, Path to)
			throws IOException {
		((ConcurrentMergeScheduler) writer.getConfig().getMergeScheduler())
			.sync();
		writer.commit();
		Files.createDirectories(to);
		try (DirectoryReader reader = DirectoryReader.open(from)) {
			for (String name : reader.getIndexCommit().getFileNames())
				Files.copy(from.getDirectory().resolve(name),
					to.resolve(name));
			return reader.leaves().size();
		}
	}

	static double secondsSince(long began) {
		return (System.nanoTime() - began) / 1e9;
	}

	public static void main(String[] args) throws Exception {
		int threads = Integer.parseInt(args[2]);
		if (threads == 0)
			threads = Runtime.getRuntime().availableProcessors();
		IndexWriterConfig config =
			new IndexWriterConfig(new WhitespaceAnalyzer());
		config.setRAMBufferSizeMB(BUFFER_MB);
		config.setUseCompoundFile(false);
		config.getMergePolicy().setNoCFSRatio(0);
		long began = System.nanoTime();
		try (FSDirectory directory = FSDirectory.open(Path.of(args[1]));
				IndexWriter writer = new IndexWriter(directory, config)) {
			try (BufferedReader lines = Files.newBufferedReader(
					Path.of(args[0]), StandardCharsets.UTF_8)) {
				if (threads == 1)
					addAlone(writer, lines);
				else
					addTogether(writer, lines, threads);
			}
			writer.commit();
			double committed = secondsSince(began);
			int documents, segments;
			try (DirectoryReader reader = DirectoryReader.open(directory)) {
				documents = reader.numDocs();
				segments = reader.leaves().size();
			}
			long bytes = bytesOf(args[1]);
			int copied = args.length > 3
				? copy(writer, directory, Path.of(args[3])) : 0;
			long merging = System.nanoTime();
			writer.forceMerge(1, true);
			writer.commit();
			writer.deleteUnusedFiles();
			System.out.printf("{\"documents\": %d, \"threads\": %d, "
				+ "\"commit_seconds\": %.3f, \"segments\": %d, "
				+ "\"bytes\": %d, \"merge_seconds\": %.3f, "
				+ "\"merged_bytes\": %d, \"copied_segments\": %d}%n",
				documents, threads, committed, segments, bytes,
				secondsSince(merging), bytesOf(args[1]), copied);
		}
	}
}
