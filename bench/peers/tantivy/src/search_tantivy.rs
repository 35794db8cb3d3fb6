// search_tantivy DIR QUERIES: searches an index of build_tantivy by BM25, as
// standard input says, one thread.  Its lines, and those of QUERIES, are those
// of SearchLucene.java, and so is the answer.
use std::io::{stdin, BufRead, Write};
use std::time::Instant;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{Index, Searcher, Term};

fn make(field: Field, mode: &str, line: &str) -> Box<dyn Query> {
    let column = if mode == "PHRASE" { 0 } else { 1 };
    let terms: Vec<Term> = line
        .split('\t')
        .nth(column)
        .expect("two columns")
        .split(' ')
        .map(|word| Term::from_field_text(field, word))
        .collect();
    if terms.len() == 1 {
        return Box::new(TermQuery::new(
            terms[0].clone(),
            IndexRecordOption::WithFreqs,
        ));
    }
    if mode == "PHRASE" {
        return Box::new(PhraseQuery::new(terms));
    }
    let occur = if mode == "AND" {
        Occur::Must
    } else {
        Occur::Should
    };
    Box::new(BooleanQuery::new(
        terms
            .into_iter()
            .map(|term| -> (Occur, Box<dyn Query>) {
                let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                (occur, Box::new(query))
            })
            .collect(),
    ))
}

fn search(
    searcher: &Searcher,
    query: &dyn Query,
    k: usize,
) -> tantivy::Result<usize> {
    let best = TopDocs::with_limit(k).order_by_score();
    Ok(searcher.search(query, &best)?.len())
}

fn run(
    searcher: &Searcher,
    queries: &[Box<dyn Query>],
    command: &[&str],
) -> tantivy::Result<String> {
    let k: usize = command[1].parse().expect("K");
    let repetitions: usize = command[2].parse().expect("REPETITIONS");
    let warm: f64 = command[3].parse().expect("WARM");
    let mut hits = vec![0; queries.len()];
    let mut best = vec![f64::MAX; queries.len()];
    let began = Instant::now();
    loop {
        for (i, query) in queries.iter().enumerate() {
            hits[i] = search(searcher, query.as_ref(), k)?;
        }
        if began.elapsed().as_secs_f64() >= warm {
            break;
        }
    }
    for _ in 0..repetitions {
        for (i, query) in queries.iter().enumerate() {
            let from = Instant::now();
            search(searcher, query.as_ref(), k)?;
            best[i] = best[i].min(from.elapsed().as_secs_f64() * 1e6);
        }
    }
    let us: Vec<String> = best.iter().map(|us| format!("{us:.1}")).collect();
    Ok(format!(
        "{{\"us\": [{}], \"hits\": {:?}}}",
        us.join(","),
        hits
    ))
}

fn main() -> tantivy::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let index = Index::open_in_dir(&args[1])?;
    index.tokenizers().register(
        "words",
        TextAnalyzer::builder(WhitespaceTokenizer::default()).build(),
    );
    let field = index.schema().get_field("text")?;
    let searcher = index.reader()?.searcher();
    let lines = std::fs::read_to_string(&args[2])?;
    for command in stdin().lock().lines() {
        let command = command?;
        let words: Vec<&str> = command.split(' ').collect();
        let queries: Vec<Box<dyn Query>> = lines
            .lines()
            .map(|line| make(field, words[0], line))
            .collect();
        println!("{}", run(&searcher, &queries, &words)?);
        std::io::stdout().flush()?;
    }
    Ok(())
}
