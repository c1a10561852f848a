# shellcheck shell=sh
# Sourced by ./dev. Packages of other suites or machines, unpacked in build for
# the tests and the benchmark to find: none of them is installed.

# begin_private_apt FOLDER SUITE TYPES [SETTINGS]: goes to that folder, where apt
# has a state of its own and that suite only, of packages (deb) or sources
# (deb-src). apt checks signatures as ever. A mirror that was last renewed weeks
# ago will do: an older package is as good for the tests.
begin_private_apt() {
    unset APT_CONFIG
    rm -rf "$1"
    mkdir -p "$1/lists/partial" "$1/cache"
    cd "$1" || return
    : >status
    debian_suite "$2" "$3" >suite.sources
    cat >apt.conf <<END
Dir::Etc { SourceList "$1/suite.sources"; SourceParts "/dev/null";
    Preferences "/dev/null"; PreferencesParts "/dev/null"; };
Dir::State { Lists "$1/lists"; Status "$1/status"; };
Dir::Cache "$1/cache";
APT::Sandbox::User "$(id -un)";
${4-}
END
    export APT_CONFIG="$1/apt.conf"
    apt-get -q update -o APT::Update::Error-Mode=any \
        -o Acquire::Check-Valid-Until=false
}

# unpack NAME SUITE PATTERN PACKAGES [SETTINGS]: into build/NAME/files, of the
# packages and all that they depend on what has a name of that pattern.
unpack() {
    files=$PWD/build/$1/files
    begin_private_apt "$PWD/build/$1/apt" "$2" deb "${5-}"
    # shellcheck disable=SC2046,SC2086 # one word a package
    apt-get -q download $(apt-cache depends --recurse --no-recommends \
        --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
        $4 | grep -E "^($3)\$" | sort -u)
    rm -rf "$files.part"
    for package in *.deb; do
        dpkg-deb -x "$package" "$files.part"
    done
    mv "$files.part" "$files"
    rm -r "$PWD"
}

# unpacked_file NAME FILE: its path, or nothing.
unpacked_file() {
    find "$PWD/build/$1/files" -name "$2" -type f 2>/dev/null | head -n 1
}

# Sets newest_lib and newest_include, empty where it is not to be had.
# shellcheck disable=SC2034 # ./dev reads them
setup_newest_onednn() {
    once onednn-newest/files "Debian unstable's oneDNN for the tests" \
        unpack onednn-newest unstable 'libdnnl.*' libdnnl-dev
    newest_lib='' newest_include=''
    library=$(unpacked_file onednn-newest 'libdnnl.so.*')
    # It must load with this machine's libc.
    if [ -n "$library" ] && ! ldd "$library" 2>&1 | grep 'not found'; then
        newest_lib=$(dirname "$library")
        newest_include=$PWD/build/onednn-newest/files/usr/include
    else
        say "without the newest oneDNN, the tests that need it are left out"
    fi
}

# The machine's own goes first. The benchmark says so where there is none.
setup_xnnpack() {
    library=libXNNPACK.so.0.20241108
    if ldconfig -p | grep -q $library; then return 0; fi
    once xnnpack/files "Debian 13's XNNPACK to compare with" unpack xnnpack \
        trixie 'lib(xnnpack|pthreadpool|cpuinfo).*' libxnnpack0.20241108
    library=$(unpacked_file xnnpack $library)
    [ -z "$library" ] || export DNNL_DEQUANT_XNNPACK="$library"
}

# Debian's cross compiler, installed, and that machine's libraries. The compiler
# may be of an older release than these.
setup_aarch64() {
    setup_packages g++-aarch64-linux-gnu qemu-user
    once aarch64-root/files "Debian's oneDNN for aarch64" unpack aarch64-root trixie \
        'lib(dnnl|arm|gomp).*|libstdc\+\+6|libgtest-dev|libc6(-dev)?|linux-libc-dev|libgcc-s1' \
        'libdnnl-dev libgtest-dev libc6-dev' \
        'APT { Architecture "arm64"; Architectures "arm64"; };'
    aarch64_root=$PWD/build/aarch64-root/files
    [ -e "$aarch64_root" ] || die "no oneDNN for aarch64"
    ln -sfn usr/lib "$aarch64_root/lib"
    ln -sf libstdc++.so.6 \
        "$aarch64_root/usr/lib/aarch64-linux-gnu/libstdc++.so"
}
