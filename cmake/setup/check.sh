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

# run_asan [CTEST-ARGUMENT...]
run_asan() {
    setup_clang
    run_tests asan "$@"
}

# run_tsan [CTEST-ARGUMENT...]; parallel regions of a test's own are not visible
# to the sanitizer.
run_tsan() {
    set_ort_sessions
    targets="test_stress $ort_sessions"
    run_tests tsan \
        -R '^onnxruntime|stress_(concurrency|threads|one_answer|parallel_for)' \
        -E inside_a_parallel_region "$@"
}

# Generated code must be of instructions that valgrind knows: AVX2. OpenMP's
# threads wait actively, which valgrind makes endless.
run_valgrind() {
    command -v valgrind >/dev/null || setup_packages valgrind
    build_target release test_e2e
    ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=1 DNNL_DEQUANT_TEST_EVERY=997 \
        valgrind --error-exitcode=1 --quiet \
        build/release/tests/e2e/test_e2e --gtest_brief=1 \
        --gtest_filter='plugin*:bad*:abuse*:matmul*'
}

run_soak() {
    build_target release soak
    build/release/tests/stress/soak "$1"
}

fuzz_targets='fuzz_c_api fuzz_chain fuzz_graph_file'

# fuzz_target TARGET SECONDS SEED: the log has what libFuzzer says, line by line.
fuzz_target() {
    log=build/fuzz/$1.log
    say "fuzzing $1 for $2 seconds"
    mkdir -p "build/fuzz/grown/$1" build/fuzz/found
    "build/asan/tests/fuzz/fuzz_$1" -max_total_time="$2" -seed="$3" \
        -max_len=1024 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/found/$1-" \
        "build/fuzz/grown/$1" "tests/fuzz/corpus/$1" >"$log" 2>&1 || {
        tail -n 60 "$log"
        die "fuzzing $1: a finding, in build/fuzz/found"
    }
    say "fuzzing $1: $(awk '
        /^stat::number_of_executed_units/ { executions = $2 }
        /DONE/ { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        END { print executions " executions, " edges " edges" }' "$log")"
}

# fuzz SECONDS [SEED]: what was found is a file there, and the exit status 1.
# Without a seed, or with 0, libFuzzer takes another one each time.
fuzz() {
    setup_clang
    cmake --preset asan
    # shellcheck disable=SC2086 # one word a target
    build asan --target $fuzz_targets
    # One copy of oneDNN's header leaks; see cmake/lsan.supp.
    export ASAN_OPTIONS=detect_leaks=0
    for target in $fuzz_targets; do
        fuzz_target "${target#fuzz_}" "$1" "${2-0}"
    done
}

# check_part PART: as much of it as fits beside the others into CI's time.
check_part() {
    case $1 in
    asan)
        set_ort_sessions
        targets="test_e2e test_stress reload $fuzz_targets $ort_sessions"
        export DNNL_DEQUANT_TEST_EVERY=101
        run_asan -R '^(e2e|stress|fuzz|onnxruntime)\.' -E '\.run\.|soak' ;;
    tsan) run_tsan ;;
    valgrind) run_valgrind ;;
    # One seed, or what fails in CI would be no fault of the change's.
    fuzz) fuzz 30 1 ;;
    soak) run_soak 120 ;;
    emulate) run_emulated 600 tests/emulated/check.list ;;
    fresh) run_fresh "$fresh_portion" ;;
    torch) run_torch ;;
    *) die "check has no part '$1'" ;;
    esac
}

# check [PART...]: every part, whatever becomes of the ones before; then what
# was done, how long it took and how it ended. A part that ends with 77 lacks
# what it runs on, which is no fault of the change's.
check() {
    folder=build/check
    fresh_portion=sample
    case $* in
    '')
        fresh_portion=least
        set -- asan tsan valgrind fuzz soak emulate fresh torch ;;
    'fresh all')
        fresh_portion=all
        set -- fresh ;;
    esac
    mkdir -p $folder
    : >$folder/summary
    for part in "$@"; do
        say "check: $part"
        begin=$(date +%s)
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
        printf '%-9s %-7s %3d s\n' "$part" "$result" \
            $(($(date +%s) - begin)) >>$folder/summary
        grep -hE 'tests passed|  PASSED  |executions|^flat|^emulated|^fresh|^PyTorch|^dev: NO' \
            "$folder/$part.log" | sed 's/^/          /' >>$folder/summary
    done
    say "check:"
    cat $folder/summary
    ! grep -q FAILED $folder/summary
}
