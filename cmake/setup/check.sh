# shellcheck shell=sh
# Sourced by ./dev. What ./dev test leaves out, because it needs a build of its
# own or minutes. Each is a verb; ./dev check takes a portion of every one.
# shellcheck disable=SC2034,SC2119,SC2120 # ./dev reads and calls more

# Clang, its sanitizers' libraries and its OpenMP.
setup_clang() {
    setup_packages clang libclang-rt-dev libomp-dev
}

# Sets ort_sessions: the target that runs ONNX Runtime's provider by many threads,
# empty where ONNX Runtime is not to be had.
set_ort_sessions() {
    setup_onnxruntime
    ort_sessions=${onnxruntime_pythons:+ort_sessions}
}

# cmd_asan [CTEST-ARGUMENT...]
cmd_asan() {
    setup_clang
    run_tests asan "$@"
}

# cmd_tsan [CTEST-ARGUMENT...]; parallel regions of a test's own are not visible
# to the sanitizer.
cmd_tsan() {
    set_ort_sessions
    targets="test_stress $ort_sessions"
    run_tests tsan \
        -R '^onnxruntime|stress_(concurrency|threads|one_answer|parallel_for)' \
        -E inside_a_parallel_region "$@"
}

# Generated code must be of instructions that valgrind knows: AVX2. OpenMP's
# threads wait actively, which valgrind makes endless.
cmd_valgrind() {
    command -v valgrind >/dev/null || setup_packages valgrind
    build_target release test_e2e
    ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=1 DNNL_DEQUANT_TEST_EVERY=997 \
        valgrind --error-exitcode=1 --quiet \
        build/release/tests/e2e/test_e2e --gtest_brief=1 \
        --gtest_filter='plugin*:bad*:abuse*:matmul*-*_large.*'
}

cmd_soak() {
    build_target release soak
    build/release/tests/stress/soak "${1-600}"
}

fuzz_targets='fuzz_c_api fuzz_chain fuzz_graph_file'

# cmd_fuzz [SECONDS [SEED]]: what was found is a file there, and the exit status 1.
# Without a seed, or with 0, libFuzzer takes another one each time.
cmd_fuzz() {
    seconds=${1-20}
    setup_clang
    cmake --preset asan
    # shellcheck disable=SC2086 # one word a target
    build asan --target $fuzz_targets
    # One copy of oneDNN's header leaks; see cmake/lsan.supp.
    export ASAN_OPTIONS=detect_leaks=0
    for program in $fuzz_targets; do
        target=${program#fuzz_}
        say "fuzzing $target for $seconds seconds"
        mkdir -p "build/fuzz/grown/$target" build/fuzz/found
        "build/asan/tests/fuzz/$program" -max_total_time="$seconds" -seed="${2-0}" \
            -max_len=1024 -artifact_prefix="build/fuzz/found/$target-" \
            "build/fuzz/grown/$target" "tests/fuzz/corpus/$target" \
            >"build/fuzz/$target.log" 2>&1 || {
            tail -n 60 "build/fuzz/$target.log"
            die "fuzzing $target: a finding, in build/fuzz/found"
        }
        say "fuzzing $target: $(tail -n 1 "build/fuzz/$target.log")"
    done
}

# check_part PART: as much of it as fits with the others into CI's time.
check_part() {
    case $1 in
    asan)
        set_ort_sessions
        targets="test_e2e test_stress reload $fuzz_targets $ort_sessions"
        export DNNL_DEQUANT_TEST_EVERY=101
        cmd_asan -R '^(e2e|stress|fuzz|onnxruntime)\.' -E '\.run\.|soak|matmul[a-z0-9_]*_large' ;;
    tsan | valgrind) "cmd_$1" ;;
    # One seed, or what fails in CI would be no fault of the change's.
    fuzz) cmd_fuzz 30 1 ;;
    soak) cmd_soak 120 ;;
    emulate) run_emulated 600 tests/emulated/check.list ;;
    fresh) run_fresh "$all" ;;
    torch) run_torch ;;
    # Another sample every day. What no test notices is work, no failure.
    mutate)
        cmd_mutate --quick --only-tell --sample 20 --minutes 5 \
            --seed "$(date +%F)" ;;
    *) die "check has no part '$1'" ;;
    esac
}

# turned N PART...: the parts, of which the first N come last.
turned() {
    first=$1
    shift
    while [ "$first" -gt 0 ]; do
        part=$1
        shift
        set -- "$@" "$part"
        first=$((first - 1))
    done
    echo "$@"
}

# cmd_check [--minutes N] [PART...]: every part, whatever becomes of the ones
# before; then what was done, how long it took and how it ended. A part that ends
# with 77 lacks what it runs on, which is no fault of the change's. A part whose
# turn comes after N minutes is not run either, which the summary says; then the
# first part is another one every day, so that each has its turn on slow machines.
cmd_check() {
    folder=build/check
    all='' minutes=
    if [ "${1-}" = --minutes ]; then
        minutes=$2
        shift 2
    fi
    case $* in
    '')
        set -- asan tsan valgrind emulate fuzz soak fresh torch mutate
        # shellcheck disable=SC2046 # one word a part
        [ -z "$minutes" ] || set -- $(turned $(($(date +%s) / 86400 % $#)) "$@") ;;
    'fresh all') all=all; set -- fresh ;;
    esac
    mkdir -p $folder
    : >$folder/summary
    end=$(($(date +%s) + 60 * ${minutes:-1000000}))
    for part in "$@"; do
        begin=$(date +%s)
        if [ "$begin" -ge "$end" ]; then
            echo "$part: NOT RUN, $minutes minutes were over" >>$folder/summary
            continue
        fi
        say "check: $part"
        # Not the condition of an `if`, which would switch `set -e` off inside.
        {
            set +e
            (set -e; check_part "$part")
            echo $? >$folder/status
        } 2>&1 | tee "$folder/$part.log"
        case $(cat $folder/status) in
        0) result=passed ;;
        77) result='NOT RUN' ;;
        *) result=FAILED ;;
        esac
        {
            echo "$part: $result, $(($(date +%s) - begin)) s"
            grep -hE 'tests passed|  PASSED  |: Done [0-9]|^flat|^emulated|^fresh|^PyTorch|^[|] all |^dev: NO' \
                "$folder/$part.log" | sed 's/^/    /'
        } >>$folder/summary
    done
    say "check:"
    cat $folder/summary
    ! grep -q FAILED $folder/summary
}
