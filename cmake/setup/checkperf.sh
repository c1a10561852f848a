# shellcheck shell=sh
# Sourced by ./dev. The quick set of an older commit and the work tree's.

checkperf_folder=$PWD/build/checkperf

# unpack_base COMMIT: its files, kept for the next time. No work tree of git's,
# which an interrupt would leave behind. Files are as old as the unpacking, or an
# older commit's would look built already; the mark comes last.
unpack_base() {
    mark=$checkperf_folder/base/.unpacked-$1
    if [ -e "$mark" ]; then return 0; fi
    rm -rf "$checkperf_folder/base"
    mkdir -p "$checkperf_folder/base"
    git archive "$1" | tar -x -m -C "$checkperf_folder/base"
    : >"$mark"
}

# quick_run BUILD-FOLDER JSON [ARGUMENT...]: one thread, by its CPU time, which
# other work on the machine disturbs least. What a row computes is another
# matter than its time: a wrong one does not end the comparison.
quick_run() {
    build_folder=$1 json=$2
    shift 2
    rm -f "$json"
    "$build_folder/benchmarks/dnnl-dequant-bench" kernels --quick --no-stock \
        --threads 1 --cpu-time --budget 0.05 --json "$json" "$@" >"$json.txt" ||
        [ -e "$json" ]
}

# checkperf [BRANCH [ARGUMENT-OF-KERNELS...]]: old and new take turns, so that
# the machine's moods meet both.
checkperf() {
    branch=${1-main}
    [ $# -eq 0 ] || shift
    base=$(git merge-base "$branch" HEAD) ||
        die "there is no common commit with '$branch'"
    say "comparing with $(git log -1 --format='%h %s' "$base")"
    unpack_base "$base"
    for side in base work; do
        source=$checkperf_folder/base
        [ $side = base ] || source=$PWD
        cmake -S "$source" -B "$checkperf_folder/$side-build" -G Ninja \
            -DCMAKE_BUILD_TYPE=Release -DDNNL_DEQUANT_BUILD_TESTS=OFF \
            -DDNNL_DEQUANT_BUILD_EXAMPLES=OFF >/dev/null
        # shellcheck disable=SC2154 # ./dev has it
        cmake --build "$checkperf_folder/$side-build" --parallel "$jobs" \
            --target dnnl-dequant-bench
    done
    for run in 1 2; do
        say "run $run of 2"
        quick_run "$checkperf_folder/base-build" \
            "$checkperf_folder/old$run.json" "$@"
        quick_run "$checkperf_folder/work-build" \
            "$checkperf_folder/new$run.json" "$@"
    done
    "$checkperf_folder/work-build/benchmarks/dnnl-dequant-bench" compare \
        "$checkperf_folder/old1.json" "$checkperf_folder/new1.json" \
        "$checkperf_folder/old2.json" "$checkperf_folder/new2.json"
}
