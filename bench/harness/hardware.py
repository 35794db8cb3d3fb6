#!/usr/bin/env python3
"""hardware.py DIR: the machine as JSON, on one line: CPU, memory, kernel, the
device below DIR, and how busy it is now.  What cannot be found is left out."""
import json
import os
import platform
import subprocess
import sys


def first_match(path, key):
    try:
        with open(path) as lines:
            for line in lines:
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def lscpu_fields():
    """Caches and clock as lscpu names them."""
    found = {}
    for line in (output_of("env", "LC_ALL=C", "lscpu") or "").splitlines():
        key, _, value = line.partition(":")
        if key.endswith("cache") or key in ("CPU max MHz", "BogoMIPS",
                                            "Hypervisor vendor"):
            found[key.replace(" ", "_").lower()] = value.strip()
    return found


def describe(directory):
    memory = first_match("/proc/meminfo", "MemTotal")
    mount = output_of("findmnt", "-nro", "SOURCE,FSTYPE", "-T", directory)
    source, _, fstype = (mount or "").partition(" ")
    disk = os.path.basename(source)
    machine = {
        "cpu": first_match("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": memory and int(memory.split()[0]) // 1024,
        "kernel": platform.release(),
        "filesystem": fstype or None,
        "rotational": read("/sys/block/%s/queue/rotational" % disk),
        "disk_model": read("/sys/block/%s/device/model" % disk),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/"
                         "scaling_governor"),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load_average": os.getloadavg(),
    }
    machine.update(lscpu_fields())
    return {key: value for key, value in machine.items() if value is not None}


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1] if len(sys.argv) > 1 else "."),
                     sort_keys=True))
