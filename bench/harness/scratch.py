"""scratch.py: the file that the targets io and rescore read, and the programs
of readers/ that read it."""
import json
import os
import subprocess

from harness.record import option, step, temporary

CHUNK = 16 << 20


def scratch_file(bytes_wanted):
    """BENCH_FILE if that is given and there, else a new file below BENCH_TEMP
    of random bytes, so that neither holes nor compression help."""
    path = option("FILE", "")
    if path and os.path.exists(path):
        return path
    path = path or temporary("scratch")
    step("writing %d MB to %s" % (bytes_wanted >> 20, path))
    with open(path, "wb") as file:
        for _ in range(0, bytes_wanted, CHUNK):
            file.write(os.urandom(CHUNK))
        file.flush()
        os.fsync(file.fileno())
    return path


def build_programs():
    here = os.path.dirname(os.path.abspath(__file__))
    binaries = temporary("bin")
    subprocess.run(["make", "-s", "-C", os.path.join(here, "readers"),
                    "BIN=" + binaries], check=True)
    return binaries


def run_program(*words):
    """The JSON object that it prints."""
    return json.loads(subprocess.run(
        [str(word) for word in words], check=True, stdout=subprocess.PIPE,
        text=True).stdout)
