# shellcheck shell=sh
# Sourced by ./dev. Mutants: changed lines that some test has to notice
# (tests/mutants).

# cmd_mutate [ARGUMENT...]: a build folder of its own, which holds the state too.
# shellcheck disable=SC2154 # ./dev and python.sh have the variables
cmd_mutate() {
    python_with mutants-venv python3 universalmutator==1.14.1
    [ -n "$python" ] || die "there are no mutants without universalmutator"
    cmake --preset release -B build/mutants \
        -DDNNL_DEQUANT_BUILD_BENCHMARKS=OFF -DDNNL_DEQUANT_BUILD_PYTHON=OFF \
        >/dev/null
    cmake --build build/mutants --parallel "$jobs" --target \
        dnnl_dequant test_base test_exec test_lower test_patterns \
        test_problem test_e2e test_e2e_unlinked newer_onednn test_faults \
        test_stress reload random_graphs
    PYTHONDONTWRITEBYTECODE=1 nice -n 10 "$python" tests/mutants/mutate.py "$@"
}
