# shellcheck shell=sh
# Sourced by ./dev. Debian 13's PyTorch, which links oneDNN dynamically, in a
# root of its own. The root is made once and kept.
# shellcheck disable=SC2154 # fresh.sh has set it

torch=$PWD/build/torch
torch_tests=/opt/torch # within the root

# Runs in a subshell with `set -e`: the first failure ends it.
make_torch_root() {
    archives=$fresh/trixie/archives
    rm -rf "$torch"
    mkdir -p "$torch"
    cp -a "$fresh/trixie/bare" "$torch/root.part"
    in_root "$torch/root.part" "$archives" / apt-get update
    in_root "$torch/root.part" "$archives" / env DEBIAN_FRONTEND=noninteractive \
        apt-get -y -q install --no-install-recommends python3-torch
    mv "$torch/root.part" "$torch/root"
}

# 77 where the root is not to be had.
setup_torch() {
    if [ -e "$torch/root" ]; then return 0; fi
    setup_fresh || return 77
    setup_bare_root trixie || return
    say "installing Debian 13's PyTorch in a root of its own"
    # Not the condition of an `if`, which would switch `set -e` off inside.
    set +e
    (set -e; make_torch_root) >build/torch.log 2>&1 </dev/null
    set -e
    if [ ! -e "$torch/root" ]; then
        say "NO PYTORCH could be installed here (build/torch.log)"
        return 77
    fi
}

# Models run with the plugin, with the plugin switched off, and without it.
run_torch() {
    setup_torch || return
    build_target release dnnl_dequant
    rm -rf "$torch/root$torch_tests"
    mkdir -p "$torch/root$torch_tests"
    cp tests/torch/*.py "$torch/root$torch_tests/"
    cp -L build/release/src/libdnnl_dequant.so "$torch/root$torch_tests/"
    in_root "$torch/root" "$fresh/trixie/archives" "$torch_tests" \
        python3 test_torch.py "$torch_tests/libdnnl_dequant.so"
}
