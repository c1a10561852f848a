# shellcheck shell=sh
# Sourced by ./dev. The quick set of an older commit and the work tree's.
# shellcheck disable=SC2154 # ./dev says how many jobs

# quick_run SIDE RUN [ARGUMENT...]: one thread, by its CPU time, which other work
# on the machine disturbs least. What a row computes is another matter than its
# time: a wrong one does not end the comparison.
quick_run() {
    bench=build/checkperf/$1-build/benchmarks/dnnl-dequant-bench
    json=build/checkperf/$1$2.json
    shift 2
    rm -f "$json"
    "$bench" kernels --quick --no-stock --threads 1 --cpu-time --budget 0.05 \
        --json "$json" "$@" >"$json.txt" || [ -e "$json" ]
}

# cmd_checkperf [BRANCH [ARGUMENT-OF-KERNELS...]]: old and new take turns, so that
# the machine's moods meet both. The base's files are as old as their unpacking,
# or an older commit's would look built already; no work tree of git's, which an
# interrupt would leave behind.
cmd_checkperf() {
    branch=${1-main}
    [ $# -eq 0 ] || shift
    base=$(git merge-base "$branch" HEAD) ||
        die "there is no common commit with '$branch'"
    say "comparing with $(git log -1 --format='%h %s' "$base")"
    folder=build/checkperf
    if [ ! -e "$folder/base/.unpacked-$base" ]; then
        rm -rf $folder/base
        mkdir -p $folder/base
        git archive "$base" | tar -x -m -C $folder/base
        : >"$folder/base/.unpacked-$base"
    fi
    for side in base work; do
        source=$folder/base
        [ $side = base ] || source=.
        cmake -S $source -B $folder/$side-build -G Ninja \
            -DCMAKE_BUILD_TYPE=Release -DDNNL_DEQUANT_BUILD_TESTS=OFF \
            -DDNNL_DEQUANT_BUILD_EXAMPLES=OFF >/dev/null
        cmake --build $folder/$side-build --parallel "$jobs" \
            --target dnnl-dequant-bench
    done
    for run in 1 2; do
        say "run $run of 2"
        quick_run base $run "$@"
        quick_run work $run "$@"
    done
    setup_onnx
    $folder/work-build/benchmarks/dnnl-dequant-bench compare \
        $folder/base1.json $folder/work1.json \
        $folder/base2.json $folder/work2.json
}
