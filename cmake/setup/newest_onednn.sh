# shellcheck shell=sh
# Sourced by ./dev. The newest oneDNN that Debian has (unstable's), unpacked
# next to the machine's own for the tests.

newest_onednn=$PWD/build/onednn-newest

# Runs in a subshell with `set -e`: the first failure ends it.
fetch_newest_onednn() {
    rm -rf "$newest_onednn"
    begin_private_apt "$newest_onednn/apt" unstable deb
    library=$(private_apt apt-cache depends libdnnl-dev |
        awk '$1 == "Depends:" && $2 ~ /^libdnnl[0-9]/ { print $2 }')
    private_apt apt-get download libdnnl-dev "$library"
    for package in *.deb; do
        dpkg-deb -x "$package" "$newest_onednn/root"
    done
    library=$(find "$newest_onednn/root" -name 'libdnnl.so.*' -type f)
    # It must load with this machine's libc.
    if ldd "$library" 2>&1 | grep 'not found'; then exit 1; fi
    ln -s "$(dirname "$library")" "$newest_onednn/lib"
    ln -s root/usr/include "$newest_onednn/include"
    rm -r "$newest_onednn/apt"
}

# shellcheck disable=SC2034 # ./dev reads them
# Sets newest_lib and newest_include, empty where it is not to be had.
setup_newest_onednn() {
    if [ ! -e "$newest_onednn/include" ]; then
        say "fetching the newest oneDNN of Debian unstable for the tests"
        # Not the condition of an `if`, which would switch `set -e` off inside.
        set +e
        (set -e; fetch_newest_onednn) >build/onednn-newest.log 2>&1 </dev/null
        set -e
    fi
    if [ -e "$newest_onednn/include" ]; then
        newest_lib=$newest_onednn/lib
        newest_include=$newest_onednn/include
    else
        say "the newest oneDNN could not be fetched (build/onednn-newest.log):" \
            "the tests that need it are left out"
        newest_lib=
        newest_include=
    fi
}
