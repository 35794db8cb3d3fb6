"""servers.py: further servers with parts of a table, what the first one knows
of them, and relays between them, which count bytes; imported by measure.py."""
import os
import socket
import subprocess
import threading

from harness.record import option
from harness.server import command, quoted, sql

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
SETTINGS = ("shared_buffers=1GB", "max_wal_size=8GB", "jit=off",
            "autovacuum=off", "max_parallel_workers_per_gather=0",
            "checkpoint_timeout=1h", "skipidx.cache_size=256MB")
INDEX = "USING skipidx (tsv, arrived)"
COLUMNS = "(id int, tsv tsvector, arrived timestamptz)"


class Server:
    """A cluster of its own, until it is stopped."""

    def __init__(self, number):
        self.number = number
        words = ["bash", os.path.join(TOP, "test/setup/with_cluster.sh")]
        for setting in SETTINGS:
            words += ["-c", setting]
        self.process = subprocess.Popen(
            words + ["--", "sh", "-c",
                     'echo "at $PGHOST $PGPORT $PGUSER $PGDATABASE"; read end'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = ""
        while not line.startswith("at "):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("a server has not started")
        _, self.host, self.port, self.user, self.database = line.split()

    def environment(self):
        return dict(os.environ, PGHOST=self.host, PGPORT=self.port,
                    PGUSER=self.user, PGDATABASE=self.database)

    def sql(self, *statements):
        words = [word for one in statements for word in ("-c", one)]
        return subprocess.run(command(*words), check=True, text=True,
                              stdout=subprocess.PIPE,
                              env=self.environment()).stdout.splitlines()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Relay:
    """A socket beside that of the first server, behind which is another one.
    `received` are the bytes that came from there."""

    def __init__(self, server):
        self.received = self.sent = 0
        self.port = 16000 + server.number
        self.behind = os.path.join(server.host, ".s.PGSQL." + server.port)
        path = os.path.join(os.environ["PGHOST"], ".s.PGSQL.%d" % self.port)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            front, _ = self.listener.accept()
            back = socket.socket(socket.AF_UNIX)
            back.connect(self.behind)
            for pair in ((front, back, "sent"), (back, front, "received")):
                threading.Thread(target=self.pump, args=pair,
                                 daemon=True).start()

    def pump(self, source, target, counter):
        while True:
            try:
                data = source.recv(1 << 16)
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                # before it is sent: who has it may ask for the counter
                setattr(self, counter, getattr(self, counter) + len(data))
                target.sendall(data)
            except OSError:
                return


def fill_part(server, parts):
    """Those rows of docs that the table parts has there."""
    server.sql("CREATE EXTENSION skipidx", "CREATE TABLE part " + COLUMNS)
    with subprocess.Popen(
            command("-c", "COPY (SELECT id, tsv, arrived FROM docs WHERE"
                    " satisfies_hash_partition('parts'::regclass, %d, %d, id)"
                    ") TO STDOUT" % (parts, server.number)),
            stdout=subprocess.PIPE) as rows:
        subprocess.run(command("-c", "COPY part FROM STDIN"), check=True,
                       stdin=rows.stdout, env=server.environment())
    server.sql("SET maintenance_work_mem = '1GB'",
               "CREATE INDEX part_skipidx ON part " + INDEX,
               "VACUUM (FREEZE, ANALYZE) part", "CHECKPOINT")


def know_server(server):
    name = "server%d" % server.number
    sql("CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %s,"
        " port '%s', dbname %s, extensions 'skipidx', use_remote_estimate"
        " 'true', fdw_tuple_cost '0.2', fetch_size '%d')" % (
            name, quoted(server.host), server.port, quoted(server.database),
            int(option("FETCH", 100))),
        "CREATE USER MAPPING FOR CURRENT_USER SERVER %s OPTIONS (user %s)" % (
            name, quoted(server.user)))


def distribute(number):
    """The rows of docs in the table parts, on so many servers."""
    sql("CREATE EXTENSION postgres_fdw", "CREATE EXTENSION dblink",
        "CREATE TABLE parts %s PARTITION BY HASH (id)" % COLUMNS)
    servers = []
    try:
        for one in range(number):
            servers.append(Server(one))
            fill_part(servers[-1], number)
            know_server(servers[-1])
            sql("CREATE FOREIGN TABLE part%d PARTITION OF parts FOR VALUES"
                " WITH (MODULUS %d, REMAINDER %d) SERVER server%d OPTIONS"
                " (table_name 'part')" % (one, number, one, one))
        sql("CREATE INDEX parts_skipidx ON parts " + INDEX, "ANALYZE parts")
    except BaseException:
        stop(servers)
        raise
    return servers


def go_through(relays):
    """From now on sessions reach the servers through relays."""
    for number, relay in enumerate(relays):
        sql("ALTER SERVER server%d OPTIONS (SET host %s, SET port '%d')" % (
            number, quoted(os.environ["PGHOST"]), relay.port))


def stop(servers):
    for server in servers:
        server.stop()
