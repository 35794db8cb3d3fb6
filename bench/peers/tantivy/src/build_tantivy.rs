// build_tantivy TEXT DIR THREADS [COPY]: indexes lines of `id TAB TAB words`
// with positions, by Tantivy, and prints one JSON object.  THREADS 0: as many
// as Tantivy takes by default.  They index; one more reads.  COPY gets the index
// in as many segments as are left when merges that Tantivy began of its own
// accord are done; DIR is then merged into one.
use std::fs::{copy, create_dir_all, read_dir, File};
use std::io::{BufRead, BufReader};
use std::time::Instant;
use tantivy::schema::{
    IndexRecordOption, Schema, TextFieldIndexing, TextOptions, STORED,
};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{Index, IndexWriter, TantivyDocument};

const BUFFER: usize = 1 << 30; // of all threads
const DEFAULT_THREADS_AT_MOST: usize = 8; // of Index::writer()

fn bytes_of(directory: &str) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

fn copy_files(from: &str, to: &str) -> std::io::Result<()> {
    create_dir_all(to)?;
    for entry in read_dir(from)? {
        let entry = entry?;
        copy(entry.path(), format!("{}/{}", to, entry.file_name().display()))?;
    }
    Ok(())
}

fn main() -> tantivy::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let (path, directory) = (&args[1], &args[2]);
    let mut threads: usize = args[3].parse().expect("THREADS");
    if threads == 0 {
        threads = std::thread::available_parallelism()?
            .get()
            .min(DEFAULT_THREADS_AT_MOST);
    }
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STORED);
    let text = schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("words")
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        ),
    );
    create_dir_all(directory)?;
    let index = Index::create_in_dir(directory, schema.build())?;
    index.tokenizers().register(
        "words",
        TextAnalyzer::builder(WhitespaceTokenizer::default()).build(),
    );

    let began = Instant::now();
    let mut writer: IndexWriter =
        index.writer_with_num_threads(threads, BUFFER)?;
    for line in BufReader::with_capacity(1 << 20, File::open(path)?).lines() {
        let line = line?;
        let mut parts = line.splitn(3, '\t');
        let mut document = TantivyDocument::default();
        document.add_text(id, parts.next().unwrap_or(""));
        document.add_text(text, parts.nth(1).unwrap_or(""));
        writer.add_document(document)?;
    }
    writer.commit()?;
    let committed = began.elapsed().as_secs_f64();

    let segments = index.searchable_segment_ids()?.len();
    let documents = index.reader()?.searcher().num_docs();
    let bytes = bytes_of(directory)?;
    let merging = Instant::now();
    writer.wait_merging_threads()?;
    let mut merge_seconds = merging.elapsed().as_secs_f64();
    let ids = index.searchable_segment_ids()?;
    let copied = if args.len() > 4 { ids.len() } else { 0 };
    if copied > 0 {
        let writer: IndexWriter = index.writer(BUFFER)?;
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        copy_files(directory, &args[4])?;
    }
    let merging = Instant::now();
    if ids.len() > 1 {
        let mut writer: IndexWriter = index.writer(BUFFER)?;
        writer.merge(&ids).wait()?;
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
    }
    merge_seconds += merging.elapsed().as_secs_f64();
    println!(
        "{{\"documents\": {}, \"threads\": {}, \"commit_seconds\": {:.3}, \
         \"segments\": {}, \"bytes\": {}, \"merge_seconds\": {:.3}, \
         \"merged_bytes\": {}, \"copied_segments\": {}}}",
        documents,
        threads,
        committed,
        segments,
        bytes,
        merge_seconds,
        bytes_of(directory)?,
        copied
    );
    Ok(())
}
