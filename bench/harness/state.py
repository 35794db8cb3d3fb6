"""state.py: what `make bench` has done, in a file of the folder of results;
imported by all.py and page.py."""
import json
import os


def file_of(folder):
    return os.path.join(folder, "state.jsonl")


def last_states(folder):
    """Of each name the last line, but for one that an interrupt has cut."""
    states = {}
    if os.path.exists(file_of(folder)):
        with open(file_of(folder), encoding="utf-8") as lines:
            for line in lines:
                try:
                    state = json.loads(line)
                except ValueError:
                    continue
                states[state["name"]] = state
    return states


def keep(folder, state):
    """On a line of its own, whatever is before it."""
    with open(file_of(folder), "a+", encoding="utf-8") as file:
        file.seek(0)
        before = file.read()
        file.write(("\n" if before and not before.endswith("\n") else "") +
                   json.dumps(state, sort_keys=True) + "\n")
