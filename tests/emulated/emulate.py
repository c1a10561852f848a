"""Runs tests on emulated CPUs: lays out what the guests boot, runs them side by
side, and sums up what they wrote. Called by ./dev emulate; README.md says more.

Ends with 1 where a test failed or broke down, where a filter found no test, or
where a guest did not come to its end. Ends with 77 where no guest started.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOADER = "/lib64/ld-linux-x86-64.so.2"
# What gtest writes behind a test's name where the test ends.
ENDED = re.compile(r"\[ +(OK|SKIPPED|FAILED) +\] .* \(\d+ ms\)$")
LONGEST_TEXT = 20000


class test_t:
    """A line of a list: a program, gtest's filter and how it runs."""

    def __init__(self, line):
        self.line = line
        self.program, self.filter = line.split()[:2]


def tests_of(path):
    with open(path) as lines:
        return [test_t(line.strip()) for line in lines
                if line.strip() and not line.startswith("#")]


def libraries_of(program):
    """Paths of what `program` is linked with, for ldd's `NAME => PATH (ADDRESS)`."""
    listed = subprocess.run(["ldd", program], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return re.findall(r"=> (/\S+) \(", listed)


def install(source, target, executable=False):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    if executable:
        os.chmod(target, 0o755)


class machine_t:
    """The disk that every guest boots, in `folder`."""

    def __init__(self, folder, emulator):
        self.folder, self.emulator = folder, emulator
        self.files = os.path.join(emulator, "files")
        self.tree = os.path.join(folder, "tree")
        self.disk = os.path.join(folder, "disk")

    def lay_out(self, tests, programs):
        """Linux, and as its first files the tests and what they are linked with."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("dev", "proc", "sys"):
            os.makedirs(os.path.join(self.tree, name))
        busybox = os.path.join(self.tree, "bin/busybox")
        install(os.path.join(HERE, "init"), os.path.join(self.tree, "init"), True)
        install(os.path.join(self.files, "usr/bin/busybox"), busybox, True)
        install(LOADER, self.tree + LOADER, True)
        for name in sorted({test.program for test in tests}):
            program = os.path.join(programs, name)
            target = os.path.join(self.tree, "tests", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run(["strip", "-o", target, program], check=True)
            for library in libraries_of(program):
                install(library, os.path.join(self.tree, "tests",
                                              os.path.basename(library)))
        with open(os.path.join(self.tree, "tests/list"), "w") as lines:
            lines.writelines(test.line + "\n" for test in tests)
        os.makedirs(os.path.join(self.disk, "isolinux"))
        with open(os.path.join(self.disk, "initrd"), "wb") as archive:
            subprocess.run("find . | bin/busybox cpio -o -H newc", shell=True,
                           check=True, cwd=self.tree, stdout=archive,
                           stderr=subprocess.DEVNULL)
        boot = os.path.join(self.files, "boot")
        kernel, = [name for name in os.listdir(boot) if name.startswith("vmlinuz-")]
        for source, name in (
                (os.path.join(boot, kernel), "vmlinuz"),
                (self.files + "/usr/lib/ISOLINUX/isolinux.bin", "isolinux.bin"),
                (self.files + "/usr/lib/syslinux/modules/bios/ldlinux.c32",
                 "ldlinux.c32")):
            install(source, os.path.join(self.disk, "isolinux", name))

    def boot(self, number, count, seconds):
        """Starts one of `count` guests, which share the tests out."""
        guest = os.path.join(self.folder, str(number))
        install(os.path.join(HERE, "bochsrc"), os.path.join(guest, "bochsrc"))
        # Words of a kernel's command line that it does not know are init's
        # environment.
        words = [f"GTEST_TOTAL_SHARDS={count}", f"GTEST_SHARD_INDEX={number}"]
        words += [f"{name}={value}" for name, value in os.environ.items()
                  if re.match("(DNNL_DEQUANT_TEST|ONEDNN)_", name)
                  and not re.search(r"\s", value)]
        with open(os.path.join(HERE, "isolinux.cfg")) as template, \
                open(os.path.join(self.disk, "isolinux/isolinux.cfg"), "w") as file:
            file.write(template.read().replace("@words@", " ".join(words)))
        subprocess.run(
            ["xorriso", "-as", "mkisofs", "-quiet", "-o",
             os.path.join(guest, "boot.iso"), "-b", "isolinux/isolinux.bin", "-c",
             "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4",
             "-boot-info-table", self.disk], check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(guest, "run.log"), "w") as log:
            return subprocess.Popen(
                ["timeout", str(seconds), os.path.join(self.emulator, "bochs"),
                 "-q", "-f", "bochsrc"], cwd=guest, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)

    def said(self, number):
        """The lines that a guest wrote to its serial line."""
        try:
            with open(os.path.join(self.folder, str(number), "serial"),
                      errors="replace", newline="") as serial:
                return serial.read().replace("\r", "").split("\n")
        except FileNotFoundError:
            return []


class summary_t:
    """How the tests of each filter ended. `bad`: whether anything went wrong."""

    def __init__(self, tests):
        self.ended = {test.filter: {"OK": 0, "SKIPPED": 0, "FAILED": 0}
                      for test in tests}
        self.bad = False
        self.filter = self.test = None
        self.text = []

    def end_test(self, how, why):
        if self.test is None:
            return
        if how != "OK":
            print("\n".join(self.text)[:LONGEST_TEXT])
            print(f"{why}: {self.test}")
        self.bad |= how == "FAILED"
        self.ended[self.filter][how] += 1
        self.test = None

    def add(self, lines):
        """What one guest wrote. Bochs ends with an error even when its machine is
        switched off, so that init's last word counts."""
        status = None
        for line in lines:
            begun = re.match(r"\[ RUN +\] (\S+)", line)
            ended = ENDED.match(line)
            if line.startswith("program "):
                self.end_test("FAILED", "broke down")
                self.filter = line.split()[2]
            elif begun:
                self.end_test("FAILED", "broke down")
                self.test, self.text = begun[1], []
            elif ended:
                self.end_test(ended[1], {"SKIPPED": "skipped even there"}.get(
                    ended[1], "failed"))
            elif line.startswith("status "):
                self.end_test("FAILED", "broke down")
                status = line.split()[1]
            else:
                self.text.append(line)
        self.end_test("FAILED", "was running")
        if status is None:
            print("a guest did not come to its end: its time was up, or Linux fell")
        self.bad |= status != "0"

    def tell(self):
        for name, count in self.ended.items():
            print(f"emulated: {count['OK']} passed, {count['SKIPPED']} skipped, "
                  f"{count['FAILED']} failed: {name}")
            if not count["OK"] and not count["FAILED"]:
                print(f"no test ran of {name}")
                self.bad = True


def main():
    parser = argparse.ArgumentParser(prog="emulate.py", description=__doc__)
    parser.add_argument("--folder", required=True, help="for what the guests boot")
    parser.add_argument("--emulator", required=True,
                        help="the folder of Bochs and of what Linux needs")
    parser.add_argument("--programs", required=True,
                        help="the folder of the tests' programs")
    parser.add_argument("--seconds", type=int, required=True,
                        help="no guest runs for longer")
    parser.add_argument("--guests", type=int, required=True)
    parser.add_argument("list", help="what to run, as all.list says it")
    options = parser.parse_args()
    tests = tests_of(options.list)
    machine = machine_t(os.path.abspath(options.folder),
                        os.path.abspath(options.emulator))
    machine.lay_out(tests, options.programs)
    print(f"emulating, for {options.seconds} seconds at most: "
          f"{options.folder}/*/serial", flush=True)
    guests = []
    try:
        for number in range(options.guests):
            guests.append(machine.boot(number, options.guests, options.seconds))
        for guest in guests:
            guest.wait()
    finally:
        for guest in guests:
            guest.terminate()
    said = [machine.said(number) for number in range(options.guests)]
    if not any(line.startswith("program ") for lines in said for line in lines):
        print("no emulated machine started: "
              f"{options.folder}/0/run.log")
        return 77
    summary = summary_t(tests)
    for lines in said:
        summary.add(lines)
    summary.tell()
    return int(summary.bad)


if __name__ == "__main__":
    sys.exit(main())
