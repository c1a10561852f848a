"""Threads, many calls, and what a call costs."""
import gc
import os
import subprocess
import sys
import threading
import time
import timeit
import unittest

import numpy as np

import dnnl_dequant
from dnnl_dequant import _library, _program
from dnnl_dequant._arrays import address_of

SCALING = """
import os, threading, time
import numpy as np, dnnl_dequant
x = np.ones((256, 1024), np.uint8)
scale = np.ones(256, np.float32)
outs = [np.empty(x.shape, np.float32) for _ in range(2)]

def work(out, count=400):
    for _ in range(count):
        dnnl_dequant.dequantize(x, scale, axis=0, out=out)

def seconds(threads):
    made = [threading.Thread(target=work, args=(outs[i],))
            for i in range(threads)]
    begin = time.perf_counter()
    for thread in made: thread.start()
    for thread in made: thread.join()
    return time.perf_counter() - begin

def used():
    # Seconds of CPU that all programs had, of all CPUs.
    with open("/proc/stat") as file:
        words = [int(word) for word in file.readline().split()[1:9]]
    return (sum(words) - words[3] - words[4]) / os.sysconf("SC_CLK_TCK")

for out in outs: work(out, 4)
begin, cpu, own = time.perf_counter(), used(), time.process_time()
pairs = [(seconds(1), seconds(2)) for _ in range(12)]
wall = time.perf_counter() - begin
assert all((out == 1).all() for out in outs)
others = used() - cpu - (time.process_time() - own)
one, two = [min(column) for column in zip(*pairs)]
print(2 * one / two, 1 - others / (wall * os.cpu_count()))
"""


def resident_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise AssertionError("no VmRSS")


class ThreadsTest(unittest.TestCase):
    def test_the_lock_is_released(self):
        """Python goes on in one thread while another is in one long call."""
        x = np.ones((4096, 8192), np.uint8)
        scale = np.ones(1, np.float32)
        out = np.empty(x.shape, np.float32)
        dnnl_dequant.dequantize(x[:1], scale, out=out[:1])
        call = []

        def work():
            call.append(time.perf_counter())
            dnnl_dequant.dequantize(x, scale, out=out)
            call.append(time.perf_counter())

        def moments_inside():
            seen = []
            call.clear()
            thread = threading.Thread(target=work)
            thread.start()
            while thread.is_alive():
                seen.append(time.perf_counter())
            begin, end = call
            margin = (end - begin) / 10
            return sum(begin + margin < moment < end - margin
                       for moment in seen)

        # Other programs may take the CPU away from one try, not from all.
        self.assertGreater(max(moments_inside() for _ in range(5)), 20)

    def test_two_threads_at_once(self):
        """One thread of OpenMP's each. What both together do is printed: it
        depends on what else the machine does."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("this machine lets the process use one CPU")
        done = subprocess.run(
            [sys.executable, "-c", SCALING], capture_output=True, text=True,
            check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        factor, idle = [float(word) for word in done.stdout.split()]
        print(f"two threads do {factor:.2f} times the work of one "
              f"({idle:.0%} of two CPUs were free)", file=sys.stderr)

    def test_threads_share_programs(self):
        random = np.random.default_rng(12)
        weight = random.integers(0, 256, (64, 64), np.uint8)
        scale = random.random((64, 2), np.float32)
        linear = dnnl_dequant.Linear(weight, scale, block_size=32)
        xs = [random.standard_normal((rows, 64)).astype(np.float32)
              for rows in range(1, 9)]
        wanted = [linear(x) for x in xs]
        linear = dnnl_dequant.Linear(weight, scale, block_size=32)
        failures = []

        def work():
            for _ in range(50):
                for x, y in zip(xs, wanted):
                    codes = dnnl_dequant.quantize(x, 0.01, dtype="int8")
                    again = dnnl_dequant.dequantize(codes, 0.01)
                    if not np.array_equal(linear(x), y) \
                            or again.shape != x.shape:
                        failures.append(x.shape)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class MemoryTest(unittest.TestCase):
    def check_flat(self, call, before_that=2500, calls=10000):
        for turn in range(before_that):
            call(turn)
        self.check_grows_no_more(lambda: [call(turn) for turn in range(calls)])

    def check_grows_no_more(self, calls):
        """A call that kept more than a few bytes would show every time; what
        the allocators take once more does not."""
        growths = []
        for _ in range(4):
            gc.collect()
            before = resident_kib()
            calls()
            gc.collect()
            growths.append(resident_kib() - before)
            if growths[-1] < 640:
                return
        self.fail(f"memory grew by {growths} KiB")

    def test_one_shape(self):
        x = np.ones((4, 16), np.uint8)
        scale = np.ones(4, np.float32)
        self.check_flat(lambda _: dnnl_dequant.dequantize(x, scale, axis=0))

    def test_scalars_and_failures(self):
        x = np.ones((4, 16), np.float32)

        def call(_):
            dnnl_dequant.dynamic_quantize(x)
            dnnl_dequant.quantize(x, 0.5)
            with self.assertRaises(ValueError):
                dnnl_dequant.quantize(x, x)
        self.check_flat(call)

    def test_more_shapes_than_are_kept(self):
        scale = np.ones(1, np.float32)
        long = np.ones(3000, np.uint8)
        self.check_flat(
            lambda turn: dnnl_dequant.dequantize(long[:turn % 1500 + 1],
                                                 scale), 1500, 2500)
        self.assertLessEqual(len(_program.programs), 512)

    def test_linears_come_and_go(self):
        weight = np.ones((8, 16), np.int8)
        x = np.ones((1, 16), np.float32)

        def make(count):
            for _ in range(count):
                dnnl_dequant.Linear(weight, 1.0)(x)
        make(300)
        self.check_grows_no_more(lambda: make(1000))


class OverheadTest(unittest.TestCase):
    """Prints what calls cost."""

    def report(self, name, call):
        call()
        before = len(_program.programs)
        us = min(timeit.repeat(call, number=2000, repeat=7)) / 2000 * 1e6
        print(f"{name}: {us:.2f} us", file=sys.stderr)
        self.assertEqual(len(_program.programs), before, "compiled again")

    def test_dequantize_of_64_elements(self):
        x = np.ones((8, 8), np.uint8)
        scale, zero = np.ones(8, np.float32), np.ones(8, np.uint8)
        self.report("dequantize of 64 elements",
                    lambda: dnnl_dequant.dequantize(x, scale, zero))
        self.report("dequantize of 64 elements, scale a number",
                    lambda: dnnl_dequant.dequantize(x, 0.5))

    def test_linear_of_one_row(self):
        weight = np.ones((64, 64), np.uint8)
        linear = dnnl_dequant.Linear(weight, np.ones(64, np.float32))
        x, y = np.ones((1, 64), np.float32), np.empty((1, 64), np.float32)
        linear(x, out=y)
        self.report("Linear of one row", lambda: linear(x))
        [entry] = {made.program: made for made in
                   linear._shortcuts._entries.values()}.values()
        run = _library.library().execute
        direct = (entry.handle, address_of(x), address_of(y), entry.weight,
                  entry.scale, entry.others)
        self.report("the same, the library's function alone",
                    lambda: run(*direct))


if __name__ == "__main__":
    unittest.main()
