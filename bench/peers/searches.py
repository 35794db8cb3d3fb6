"""searches.py: searches by Lucene and Tantivy of the words of the table docs,
by programs that peers.sh has made; imported by measure.py of several targets."""
import json
import os
import subprocess

from harness.record import option, step, temporary
from harness.timing import short
from peers.peers import PEERS, build_index, index_of

WARM_FIRST, WARM_LATER = 6, .5    # seconds, of programs compiled as they run
QUERIES = "searches.tsv"
ERRORS = "searches.log"


def write_searches(queries):
    """`words TAB distinct words`, as the server has them."""
    with open(temporary(QUERIES), "w", encoding="utf-8") as file:
        for query in queries:
            distinct = dict.fromkeys(query["words"])
            file.write(" ".join(query["words"]) + "\t" + " ".join(distinct) +
                       "\n")


class Peer:
    """An index, and the program that searches it."""

    def __init__(self, name, index=None):
        self.name = name
        self.index = index or index_of(name)
        self.process = None
        self.bytes = 0

    def available(self):
        return all(os.path.exists(temporary(kind + self.name))
                   for kind in ("build_", "search_"))

    def build(self):
        """Of one segment; returns how many documents it has."""
        built = build_index(self.name, 1)
        if built is None:
            raise RuntimeError("%s cannot build its index" % self.name)
        self.bytes = built["merged_bytes"]
        return built["documents"]

    def start(self):
        with open(temporary(ERRORS), "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [temporary("search_" + self.name),
                 self.index, QUERIES], cwd=temporary(),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True)

    def ask(self, mode, k, repetitions, warm, condition):
        if self.process is None:
            self.start()
        self.process.stdin.write(("%s %d %d %g %s" % (
            mode, k, repetitions, warm, condition)).rstrip() + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("%s ended, see %s" % (self.name, ERRORS))
        return json.loads(line)

    def rows(self, mode, k, condition=""):
        """The ids of each search's best rows, best first."""
        return self.ask(mode, k, 0, 0, condition)["rows"]

    def times(self, mode, k, repetitions, warm, condition=""):
        """Of each search the least time in us, and its rows; `warm` seconds of
        untimed ones before, once at least.  Lucene alone takes a condition."""
        result = self.ask(mode, k, repetitions, warm, condition)
        result["us"] = [short(us) for us in result["us"]]
        return result

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def available_peers():
    """Those of BENCH_PEERS by name, and the names of those that cannot be
    had."""
    wanted = {name: Peer(name) for name in option("PEERS", PEERS).split()}
    return ({name: peer for name, peer in wanted.items() if peer.available()},
            [name for name, peer in wanted.items() if not peer.available()])


def build_peers(run):
    """Those that are there, with an index of the words; by name."""
    peers, run["peers_missing"] = available_peers()
    for name, peer in peers.items():
        step("build", name)
        if peer.build() != run["rows"]:
            raise RuntimeError("%s has not all rows" % name)
        run["indexes"][name] = peer.bytes
    return peers
