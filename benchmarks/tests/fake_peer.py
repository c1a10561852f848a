"""A peer that computes nothing: the protocol of peer.hpp without a library.

What it does is in $FAKE_PEER: "" runs, "absent" is not installed, "die" dies in
its second run, "silent" dies without a word, "garbage" says no JSON. Where
$FAKE_PEER_LOG is set, it writes there what it was asked.
"""

import json
import os
import sys

BEHAVIOUR = os.environ.get("FAKE_PEER", "")
LOG = os.environ.get("FAKE_PEER_LOG")


def say(answer):
    print(json.dumps(answer), flush=True)


def note(line):
    if LOG:
        with open(LOG, "a", encoding="utf-8") as file:
            file.write(line)


def main():
    if BEHAVIOUR == "silent":
        sys.exit(3)
    if BEHAVIOUR == "absent":
        say({"absent": "No module named 'fake'"})
        return
    say({"peer": "Fake", "version": "1.2"})
    asked = 0
    for line in sys.stdin:
        note(line)
        if BEHAVIOUR == "garbage":
            print("{not json", flush=True)
            continue
        if not line.startswith("run "):
            row = json.loads(line)
            say({"refused": "no BFLOAT16"} if row["y"] == "BFLOAT16"
                else {"ready": True})
            continue
        asked += 1
        if BEHAVIOUR == "die" and asked == 2:
            os._exit(7)
        count = int(line.split()[1])
        # The first is not to be counted.
        say({"seconds": [1e9] + [0.5] * (count - 1),
             "cpu_seconds": [1e9] + [0.25] * (count - 1)})


main()
