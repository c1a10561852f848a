# shellcheck shell=sh
# Sourced by ./dev. Debian's cross compiler for aarch64, and the libraries of
# that machine unpacked in build: none of them is installed.

aarch64_root=$PWD/build/aarch64-root
aarch64_packages='libdnnl-dev libgtest-dev libc6 libc6-dev linux-libc-dev
    libgcc-s1 libgomp1 libstdc++6'

# Runs in a subshell with `set -e`: the first failure ends it.
fetch_aarch64() {
    rm -rf "$aarch64_root"
    set -- -o APT::Architecture=arm64 -o APT::Architectures=arm64
    begin_private_apt "$aarch64_root/apt" trixie deb "$@"
    # With what oneDNN needs there besides the compiler's own libraries.
    # shellcheck disable=SC2046,SC2086 # one word a package
    private_apt apt-get "$@" download $aarch64_packages $(
        private_apt apt-cache "$@" depends --recurse \
            --no-recommends --no-suggests --no-conflicts --no-breaks \
            --no-replaces --no-enhances libdnnl-dev |
            grep '^lib\(dnnl\|arm\|stdc++\|gomp\)' | sort -u)
    for package in *.deb; do
        dpkg-deb -x "$package" "$aarch64_root"
    done
    ln -s usr/lib "$aarch64_root/lib"
    # The cross compiler may be of an older release than these libraries.
    ln -s libstdc++.so.6 \
        "$aarch64_root/usr/lib/aarch64-linux-gnu/libstdc++.so"
    rm -r "$aarch64_root/apt"
}

aarch64_is_here() {
    [ -e "$aarch64_root" ] && [ ! -e "$aarch64_root/apt" ]
}

# Where it is not to be had, it is not here afterwards.
setup_aarch64() {
    setup_packages g++-aarch64-linux-gnu qemu-user
    if ! aarch64_is_here; then
        say "fetching Debian's oneDNN for aarch64"
        # Not the condition of anything, which would switch `set -e` off inside.
        set +e
        (set -e; fetch_aarch64) >build/aarch64-root.log 2>&1 </dev/null
        set -e
    fi
}
