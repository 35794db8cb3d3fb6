"""client.py: statements timed by client.c, over sockets; imported by
measure.py."""
import json
import os
import subprocess

from harness.record import temporary
from harness.timing import short

HERE = os.path.dirname(os.path.abspath(__file__))


def compile_client():
    """For the libpq of this place, which may be a root of its own."""
    def directory(which):
        return subprocess.run(["pg_config", which], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall",
                    "-Wextra", "-I" + directory("--includedir"),
                    os.path.join(HERE, "client.c"), "-o", temporary("client"),
                    "-L" + directory("--libdir"), "-lpq", "-lpthread"],
                   check=True)


def lane(database, statements=(), prepared=None, settings=()):
    """Lines for client.c: statements in one database.  With `prepared`,
    `statements` are lists of values for it."""
    lines = ["D dbname=" + database]
    lines += ["S SET %s = '%s'" % pair for pair in settings]
    if prepared:
        lines += ["P " + prepared]
        lines += ["A " + "\t".join(values) for values in statements]
    else:
        lines += ["Q " + one for one in statements]
    if any("\n" in one for one in lines):
        raise ValueError("a statement has more than one line")
    return lines


def run_client(lanes, mode="kept", clients=1, passes=1, seconds=0):
    """What client.c prints, times as short as they are exact."""
    path = temporary("statements")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for lines in lanes for line in lines))
    done = subprocess.run(
        [temporary("client"), mode, str(clients), str(passes), "%g" % seconds,
         path], check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    result = json.loads(done.stdout)
    for one in result["lanes"]:
        one["us"] = [[short(us) for us in times] for times in one["us"]]
    return result
