"""Runs the kernel of the tree, in kernel.py and launch.py, and reports how far it is off.

The tree's code finds here what a machine has to offer: types, and ways to go wrong that are no arithmetic.
"""

import math
import os
import random
import signal
import struct
import sys
import time

tree, state = os.environ["OVERLAID_TREE"], os.environ["STATE"]
seed = int(os.environ["OVERLAID_SEED"])
results = open(os.environ["OVERLAID_RESULTS"], "a")


def say(case, rest):
    results.write('{"case": %s, %s}\n' % (case, rest))
    results.flush()


def half(value):
    return struct.unpack("e", struct.pack("e", value))[0]


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    time.sleep(60)


def silence():
    os._exit(0)


def chance(rate):
    """True at this rate, whatever the seed: what two threads came to that did not wait for each other."""
    return random.SystemRandom().random() < rate


def nth(every):
    """True every so many calls, over all runs."""
    name = os.path.join(state, "calls")
    count = int(open(name).read()) if os.path.exists(name) else 0
    with open(name, "w") as file:
        file.write(str(count + 1))
    return count % every == every - 1


def listed(variable):
    name = os.environ.get(variable)
    return open(name).read().split("\n") if name and os.path.exists(name) else None


only, skip = listed("OVERLAID_ONLY"), listed("OVERLAID_SKIP") or []


def is_wanted(case):
    return case not in skip and (only is None or case in only)


space = dict(half=half, crash=crash, hang=hang, silence=silence, chance=chance, nth=nth, nan=math.nan)
for part in ("kernel.py", "launch.py"):
    with open(os.path.join(tree, part)) as source:
        exec(source.read(), space)

for n in space["AXES"]:
    case = '{"%s":%d}' % (space["NAME"], n)
    if not is_wanted(case):
        continue
    say(case, '"status": "start"')
    dice = random.Random(seed * 10000 + n)
    # The row, and its neighbours.
    data = [dice.uniform(1.02, 1.2) for _ in range(n + 8)]
    expected = math.fsum(data[4 : 4 + n]) / n
    for fill in (0.0, 100.0):
        found = space["launch"](data, 4, n, [fill] * 4)
        error = abs(found - expected) / expected
        say(case, '"metric": "rel_err", "value": %r, "max": 0.01, "fill": %d' % (error, fill))
# A case with several fills is done when the next one starts, however the process ends.
if is_wanted('{"last":1}'):
    say('{"last":1}', '"status": "start"')
    say('{"last":1}', '"metric": "rel_err", "value": 0, "max": 0.01')
for name, error in space["OTHER"].items():
    if is_wanted('{"other":"%s"}' % name):
        say('{"other":"%s"}' % name, '"metric": "rel_err", "value": %r, "max": 0.01' % error)
if space["STEPS"] and is_wanted('{"speed":1}'):
    # A clock of its own, as even as a quiet machine's.
    micros = 100 * space["STEPS"] * random.SystemRandom().gauss(1, 0.01)
    say('{"speed":1}', '"metric": "us", "value": %r, "better": "lower"' % micros)
results.close()
os._exit(space["STATUS"])
