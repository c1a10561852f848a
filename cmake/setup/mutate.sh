# shellcheck shell=sh
# Sourced by ./dev. Mutants: changed lines that some test has to notice
# (tests/mutants).

# cmd_mutate [ARGUMENT...]: build/mutants holds the state.
# shellcheck disable=SC2154 # ./dev and the other parts have the variables
cmd_mutate() {
    python_with mutants-venv python3 universalmutator==1.14.1
    [ -n "$python" ] || die "there are no mutants without universalmutator"
    cmake --preset release
    build release --target \
        dnnl_dequant test_base test_exec test_lower test_patterns \
        test_problem test_e2e test_e2e_unlinked newer_onednn test_faults \
        test_stress reload random_graphs
    setup_newest_onednn
    PYTHONDONTWRITEBYTECODE=1 nice -n 10 "$python" tests/mutants/mutate.py \
        --newest-onednn "$newest_lib" "$@"
}
