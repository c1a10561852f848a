# shellcheck shell=sh
# Sourced by ./dev. Mutants: changed lines that some test has to notice
# (tests/mutants).

universalmutator_version=1.14.1
mutants_environment=$PWD/build/mutants-venv

fetch_universalmutator() {
    rm -rf "$mutants_environment"
    python3 -m venv "$mutants_environment" &&
        "$mutants_environment/bin/pip" install -q \
            "universalmutator==$universalmutator_version"
}

setup_mutants() {
    mutants_python=$mutants_environment/bin/python
    if "$mutants_python" -c 'import universalmutator' 2>/dev/null; then
        return 0
    fi
    say "fetching universalmutator $universalmutator_version"
    if ! fetch_universalmutator >build/mutants-venv.log 2>&1 </dev/null; then
        die "universalmutator could not be fetched (build/mutants-venv.log)"
    fi
}

# mutate [ARGUMENT...]: a build folder of its own, which holds the state too.
mutate() {
    setup_mutants
    cmake --preset release -B build/mutants \
        -DDNNL_DEQUANT_BUILD_BENCHMARKS=OFF -DDNNL_DEQUANT_BUILD_PYTHON=OFF \
        >/dev/null
    # shellcheck disable=SC2154 # ./dev has it
    cmake --build build/mutants --parallel "$jobs" --target \
        dnnl_dequant test_base test_exec test_lower test_patterns \
        test_problem test_e2e test_e2e_unlinked newer_onednn test_faults \
        test_stress reload random_graphs
    PYTHONDONTWRITEBYTECODE=1 nice -n 10 "$mutants_python" \
        tests/mutants/mutate.py "$@"
}
