# shellcheck shell=sh
# Sourced by ./dev. Debian's cross compiler for aarch64, and the libraries of
# that machine unpacked in build: none of them is installed.

aarch64_root=$PWD/build/aarch64-root
aarch64_packages='libdnnl-dev libgtest-dev libc6 libc6-dev linux-libc-dev
    libgcc-s1 libgomp1 libstdc++6'

# Runs in a subshell with `set -e`: the first failure ends it.
fetch_aarch64() {
    rm -rf "$aarch64_root"
    private_apt="$aarch64_root/apt"
    mkdir -p "$private_apt/lists/partial" "$private_apt/cache"
    cd "$private_apt"
    : >status
    debian_suite trixie >suite.sources
    set -- -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::Etc::SourceList="$private_apt/suite.sources" \
        -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State::Lists="$private_apt/lists" \
        -o Dir::State::Status="$private_apt/status" \
        -o Dir::Cache="$private_apt/cache" \
        -o APT::Sandbox::User="$(id -un)"
    apt-get "$@" update -o APT::Update::Error-Mode=any
    # With what oneDNN needs there beside the compiler's own libraries.
    # shellcheck disable=SC2046,SC2086 # one word a package
    apt-get "$@" download $aarch64_packages $(apt-cache "$@" depends --recurse \
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
    rm -r "$private_apt"
}

# False where it is not to be had.
setup_aarch64() {
    setup_packages g++-aarch64-linux-gnu qemu-user
    if [ ! -e "$aarch64_root" ] || [ -e "$aarch64_root/apt" ]; then
        say "fetching Debian's oneDNN for aarch64"
        set +e
        (set -e; fetch_aarch64) >build/aarch64-root.log 2>&1 </dev/null
        set -e
    fi
    [ -e "$aarch64_root" ] && [ ! -e "$aarch64_root/apt" ]
}
