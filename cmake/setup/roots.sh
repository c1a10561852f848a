# shellcheck shell=sh
# Sourced by ./dev. Bare Debian roots in build, which other processes do not see
# mounted: machines that have git and nothing else, for the README's commands,
# and one with Debian 13's PyTorch, which links oneDNN dynamically. Each is made
# once and kept; what the README's commands install goes into a copy.

roots=$PWD/build/roots

# make_root SUITE: debootstrap's least, git, and what this machine has to have
# to reach a network: certificates, pip's settings and apt's proxies. It takes
# root and namespaces of one's own.
make_root() {
    [ "$(id -u)" -eq 0 ]
    unshare --mount --pid --fork true
    command -v debootstrap || setup_packages debootstrap
    rm -rf "$roots/part"
    debootstrap --variant=minbase --include=git "$1" "$roots/part" \
        "$(debian_suite "$1" | sed -n 's/^URIs: //p')"
    cp /etc/hosts "$roots/part/etc/hosts"
    cat /etc/ssl/certs/ca-certificates.crt >"$roots/part/etc/machine.crt"
    cp /etc/pip.conf "$roots/part/etc/" || true
    apt-config dump | grep -E '^Acquire::[a-z:]*Proxy ' \
        >"$roots/part/etc/apt/apt.conf.d/machine" || true
    mv "$roots/part" "$roots/$1"
}

# in_root ROOT DIRECTORY COMMAND [ARGUMENT...]: the command in a directory of a
# root, in a namespace of its own, which takes its mounts with it. The environment
# has nothing but what names certificates and proxies, pip's settings and ours.
# Without /dev there would be no terminals.
in_root() {
    root=$roots/$1 directory=$2
    shift 2
    # shellcheck disable=SC2016,SC2046 # the inner shell's; one word a variable
    env -i $(env | grep -E \
        '^(PIP_|DNNL_DEQUANT_|[a-zA-Z]*_(proxy|PROXY)=)[^ ]*$') \
        PIP_CERT=/etc/machine.crt SSL_CERT_FILE=/etc/machine.crt HOME=/root \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        unshare --mount --pid --fork --kill-child sh -euc '
            mount -t proc proc "$1/proc"
            mount --rbind /sys "$1/sys"
            mount --rbind /dev "$1/dev"
            root=$1 directory=$2
            shift 2
            exec chroot "$root" env --chdir="$directory" "$@"' \
        sh "$root" "$directory" "$@"
}

# fresh SUITE LINE...: each a command of ./dev with its arguments, for a clone
# of this tree as it is, with what is not committed yet.
fresh() {
    once "roots/$1" "a bare root of Debian" make_root "$1"
    [ -e "$roots/$1" ] || return 77
    bare=$roots/$1 suite=$1 copy=$roots/copy clone=/opt/dnnl_dequant
    rm -rf "$copy"
    cp -a "$bare" "$copy"
    shift
    git clone --quiet "$PWD" "$copy$clone"
    git diff --binary HEAD | git -C "$copy$clone" apply --allow-empty
    for line in "$@"; do
        say "fresh $suite: ./dev $line"
        begin=$(date +%s)
        # shellcheck disable=SC2086 # one word an argument
        in_root copy $clone ./dev $line </dev/null
        echo "fresh $suite: ./dev $line: $(($(date +%s) - begin)) s"
    done
    # What apt has downloaded serves the next time too.
    cp -u "$copy"/var/cache/apt/archives/*.deb "$bare/var/cache/apt/archives"
    rm -rf "$copy"
}

# run_fresh [all]: the README's commands, and every test, in both roots. Unless
# all are asked for, Debian 13 runs the demo and installs what the tests need,
# and Debian 12 runs the demo unless this machine has its compiler: with 13's
# libc it says that it is 13. A warning is an error there.
run_fresh() {
    export DNNL_DEQUANT_WERROR=ON
    if [ "$1" = all ]; then
        fresh trixie demo test
        fresh bookworm demo test
        return
    fi
    fresh trixie demo setup
    [ "$(g++ -dumpversion)" = 12 ] || fresh bookworm demo
}

make_torch_root() {
    [ -e "$roots/trixie" ]
    rm -rf "$roots/part"
    cp -a "$roots/trixie" "$roots/part"
    in_root part / sh -c 'apt-get update && apt-get -y -q \
        install --no-install-recommends python3-torch'
    mv "$roots/part" "$roots/torch"
}

# Models run with the plugin, with the plugin switched off, and without it. 77
# where the root is not to be had.
run_torch() {
    once roots/trixie "a bare root of Debian" make_root trixie
    once roots/torch "a root with Debian 13's PyTorch" make_torch_root
    [ -e "$roots/torch" ] || return 77
    build_target release dnnl_dequant
    tests=/opt/torch
    rm -rf "$roots/torch$tests"
    mkdir -p "$roots/torch$tests"
    cp -L tests/torch/*.py build/release/src/libdnnl_dequant.so \
        "$roots/torch$tests/"
    in_root torch $tests python3 test_torch.py $tests/libdnnl_dequant.so
}
