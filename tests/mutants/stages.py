"""The tests that a mutant meets, the quickest first."""
import fnmatch
import os
import re
import resource
import signal
import subprocess
import time

# They take most of the time, and what they try smaller tests try too.
SLOW = ["*_large.*"]
# Without these the rest takes a second if every case but the first is left out.
LONG = SLOW + ["matmul.takes_eight*", "matmul.takes_functions", "gated_mlp.*",
               "inplace_ports.serve*", "narrow_*", "attention_threads*",
               "attention_sizes*", "attention_scores*", "attention_masks*",
               "attention_ref*", "small_stack*", "corpus.groups*", "shapes.*",
               "integer_matmul.few*", "random*", "abuse.buffers*"]
GIB = 1 << 30


class stage_t:
    """A program of the build folder. A unit one holds the library's objects,
    any other one meets the library."""

    def __init__(self, name, program, arguments=(), unit=False, **variables):
        self.name, self.program, self.unit = name, program, unit
        self.arguments, self.variables = list(arguments), variables
        self.limit, self.cpu_limit = 300, 300

    @property
    def has_gtest(self):
        return os.path.basename(self.program).startswith("test_")


def unit(room, *arguments):
    return stage_t(room, f"tests/test_{room}", arguments, unit=True)


def e2e(name, tests="*", without=(), every=101, program="test_e2e",
        **variables):
    chosen = f"--gtest_filter={tests}"
    if without:
        chosen += "-" + ":".join(without)
    return stage_t(name, f"tests/e2e/{program}", [chosen],
                   DNNL_DEQUANT_TEST_EVERY=str(every), **variables)


def all_stages(build, newest_onednn):
    library = "{library}/libdnnl_dequant.so.0"
    newer = os.path.join(build, "tests/e2e/libnewer_onednn.so")
    stages = [
        unit("base"), unit("exec"), unit("lower"), unit("patterns"),
        unit("problem"),
        e2e("e2e.bad", "bad*", ONEDNN_VERBOSE="check"),
        e2e("e2e.first", without=LONG, every=9999),
        e2e("e2e", without=SLOW),
        e2e("e2e.abuse", "abuse*", ONEDNN_VERBOSE="all"),
        e2e("e2e.disabled", "plugin.is_enabled*:plugin.leaves*",
            DNNL_DEQUANT_DISABLE="1"),
        e2e("e2e.newer", "plugin.is_in*:partitions.*",
            program="test_e2e_unlinked", ONEDNN_VERBOSE="info",
            LD_PRELOAD=f"{library}:{newer}"),
        # A process that has logged before has read its environment.
        stage_t("faults.jit", "tests/faults/test_faults",
                ["--gtest_filter=faults_of_jit.ref_*"]),
        stage_t("faults", "tests/faults/test_faults",
                ["--gtest_filter=-*every_eleventh*:faults_of_jit.ref_*"],
                DNNL_DEQUANT_TEST_EVERY="101"),
        e2e("e2e.avx2", without=SLOW, every=499, ONEDNN_MAX_CPU_ISA="AVX2"),
        e2e("e2e.sse41", without=SLOW, every=499, ONEDNN_MAX_CPU_ISA="SSE41"),
        stage_t("stress", "tests/stress/test_stress",
                ["--gtest_filter=-*attention_of_many*:*of_ranges_for*"],
                DNNL_DEQUANT_TEST_EVERY="101"),
        stage_t("random", "tests/random/random_graphs",
                ["--plugin", library, "--seed", "1", "--graphs", "60"],
                OMP_NUM_THREADS="2"),
        stage_t("reload", "tests/stress/reload",
                [library, "{onednn}", "30", "4096"]),
        e2e("e2e.slow", ":".join(SLOW)),
    ]
    if newest_onednn:
        # What the oneDNN that programs are linked with does not have yet.
        stages.append(e2e(
            "e2e.newest_onednn", without=SLOW, every=499,
            LD_LIBRARY_PATH="{library}:" + newest_onednn,
            DNNL_DEQUANT_TEST_ONEDNN_DIR=newest_onednn))
    return stages


# What seldom notices a change that the others do not.
LAST = ("faults", "stress", "random", "reload", "e2e.avx2", "e2e.sse41",
        "e2e.slow", "e2e.newest_onednn")

FIRST = {"partition": ["patterns"], "match": ["patterns"],
         "graph": ["patterns"], "abi": ["e2e.bad"], "upstream": ["e2e.bad"]}


def ordered(stages, room, killers):
    """What noticed the last mutants of this file, what covers the room, and
    then all others."""
    first = [stage for stage, _ in killers] + FIRST.get(room, [room])
    names = [stage.name for stage in stages]
    return sorted(stages, key=lambda stage: (
        first.index(stage.name) if stage.name in first
        else len(first) + names.index(stage.name)))


def unmatched(stage, build):
    """The patterns of the stage's filter that name no test of its program. Such
    a stage would pass whatever a mutant does."""
    filters = [word[len("--gtest_filter="):] for word in stage.arguments
               if word.startswith("--gtest_filter=")]
    patterns = [pattern for text in filters
                for pattern in re.split("[:-]", text) if pattern]
    if not patterns:
        return []
    listed = subprocess.run(
        [os.path.join(build, stage.program), "--gtest_list_tests"], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        else:
            names.append(suite + word)
    return [pattern for pattern in patterns
            if not fnmatch.filter(names, pattern)]


def limit_process(cpu_seconds):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (GIB, GIB))
    resource.setrlimit(resource.RLIMIT_AS, (32 * GIB, 32 * GIB))


def failed_test(output):
    failed = re.findall(r"\[  FAILED  \] ([^\s,]+)", output)
    if failed:
        return failed[0]
    started = re.findall(r"\[ RUN      \] (\S+)", output)
    return started[-1] if started else ""


def run_stage(stage, library, build, only=""):
    """What noticed the mutant, as (test, way, seconds), or None."""
    started = time.monotonic()
    program = library.link(stage.program) if stage.unit \
        else os.path.join(build, stage.program)
    folder = library.folder if stage.unit else library.link_library()
    arguments = [word.replace("{library}", folder)
                 .replace("{onednn}", library.onednn())
                 for word in stage.arguments]
    if stage.has_gtest:
        arguments.append("--gtest_fail_fast")
        if only:
            arguments.append("--gtest_filter=" + only)
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive",
                   "LD_LIBRARY_PATH": folder}
    environment.update({name: value.replace("{library}", folder)
                        for name, value in stage.variables.items()})
    way, output = run([program] + arguments, environment, folder, stage)
    if way is None:
        return None
    return failed_test(output), way, round(time.monotonic() - started, 1)


def run(command, environment, folder, stage):
    log = os.path.join(folder, "output.txt")
    with open(log, "wb") as file:
        process = subprocess.Popen(
            command, env=environment, stdout=file, stderr=file, cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: limit_process(stage.cpu_limit))
        try:
            code = process.wait(timeout=stage.limit)
            way = None if code == 0 else \
                "failed" if code > 0 else f"signal {-code}"
        except subprocess.TimeoutExpired:
            way = "hung"
        finally:
            # Children of its own group too.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 1_000_000))
        return way, file.read().decode("utf-8", "replace")
