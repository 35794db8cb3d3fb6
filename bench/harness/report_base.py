"""report_base.py: figures and lines that reports have in common; imported by
show.py of each target."""
MB = 1 << 20          # as the server and its users count
POINTS = (("p50", .50), ("p95", .95), ("p99", .99))


def of(entries, **wanted):
    return [entry for entry in entries
            if all(entry[key] == value for key, value in wanted.items())]


def quantile(values, share):
    """Linear between neighbours, as SQL's percentile_cont."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, .5)


def collected(rounds, field):
    """The median of its rounds, in us, of each query that was run, by its
    number."""
    found = {}
    for one in rounds:
        numbers = one["queries"] or range(len(one[field]))
        for number, us in zip(numbers, one[field]):
            if us is not None:
                found.setdefault(number, []).append(us)
    return {number: median(found[number]) for number in sorted(found)}


def size_name(size):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit and size % unit == 0:
            return "%d %s" % (size // unit, name)
    return "%d B" % size


def expect(label, measured, wanted, unit, at_least):
    """Compared as measured; rounded only to be printed."""
    ok = measured >= wanted if at_least else measured <= wanted
    return "expect %s measured=%.2f%s wanted%s%.2f%s %s" % (
        label, measured, unit, ">=" if at_least else "<=", wanted, unit,
        "ok" if ok else "short")


def print_machine(run):
    hardware = run["hardware"]
    print("machine  %s, %d cores, %d MB, kernel %s, %s; load %.1f before, "
          "%.1f after" % (
              hardware.get("cpu"), hardware.get("cores", 0),
              hardware.get("memory_mb", 0), hardware.get("kernel"),
              hardware.get("filesystem"), hardware["load_average"][0],
              run["load_average_after"][0]))


def print_head(run, *more):
    """What was measured on, with which versions."""
    print()
    print_machine(run)
    print("corpus   %s: %d rows; skipidx %s, server %s; %s" % (
        run["corpus"], run["rows"], run["skipidx"], run["server"].split()[0],
        "; ".join(("%d rounds, medians" % run["rounds"],) + more)))
