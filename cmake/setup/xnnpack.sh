# shellcheck shell=sh
# Sourced by ./dev. Debian 13's XNNPACK with what it needs, unpacked in build for
# the benchmark to find at run time: nothing is installed.

xnnpack_library=libXNNPACK.so.0.20241108
xnnpack_packages='libxnnpack0.20241108 libpthreadpool0 libcpuinfo0'
xnnpack_folder=$PWD/build/xnnpack

# Runs in a subshell with `set -e`: the first failure ends it.
fetch_xnnpack() {
    rm -rf "$xnnpack_folder"
    mkdir -p "$xnnpack_folder/apt"
    cd "$xnnpack_folder/apt"
    # Debian 12 has older ones of two of them.
    # shellcheck disable=SC2046,SC2086 # one word a package
    apt-get -q -o APT::Sandbox::User="$(id -un)" download \
        $(printf '%s/trixie ' $xnnpack_packages)
    for package in *.deb; do
        dpkg-deb -x "$package" "$xnnpack_folder/root"
    done
    rm -r "$xnnpack_folder/apt"
}

# The machine's own goes first. The benchmark says so where there is none.
setup_xnnpack() {
    if ldconfig -p | grep -q "$xnnpack_library"; then return 0; fi
    if [ ! -d "$xnnpack_folder/root" ]; then
        say "fetching Debian 13's XNNPACK to compare with"
        # Not the condition of an `if`, which would switch `set -e` off inside.
        set +e
        (set -e; fetch_xnnpack) >build/xnnpack.log 2>&1 </dev/null
        set -e
    fi
    library=$(find "$xnnpack_folder/root" -name "$xnnpack_library" 2>/dev/null)
    if [ -n "$library" ]; then
        export DNNL_DEQUANT_XNNPACK="$library"
    else
        say "XNNPACK could not be fetched (build/xnnpack.log)"
    fi
}
