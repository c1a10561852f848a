# shellcheck shell=sh
# Sourced by ./dev. The README's commands on machines that have git and nothing
# else: bare Debian roots in build, which other processes do not see mounted.
# Each root is made once and kept; what the commands install goes into a copy.

fresh=$PWD/build/fresh
fresh_clone=/opt/dnnl_dequant # within a root

# Fails where no root can be made here, and says why.
setup_fresh() {
    if [ "$(id -u)" -ne 0 ] ||
        ! unshare --mount --pid --fork true 2>/dev/null; then
        say "NO ROOTS: making one needs root and namespaces of one's own"
        return 1
    fi
    if command -v debootstrap >/dev/null ||
        (setup_packages debootstrap) >build/fresh.log 2>&1 </dev/null; then
        return 0
    fi
    say "NO ROOTS: debootstrap could not be installed (build/fresh.log)"
    return 1
}

# make_bare_root SUITE: debootstrap's least, git, and what this machine has to
# have to reach a network: certificates, pip's settings and apt's proxies.
# Runs in a subshell with `set -e`: the first failure ends it.
make_bare_root() {
    folder=$fresh/$1
    bare=$folder/bare
    rm -rf "$folder"
    mkdir -p "$folder/archives"
    source=$(debian_source)
    [ -n "$source" ]
    debootstrap --variant=minbase --include=git "$1" "$bare.part" \
        "${source##* }"
    cp /etc/hosts "$bare.part/etc/hosts"
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        cp -L /etc/ssl/certs/ca-certificates.crt "$bare.part/etc/machine.crt"
    fi
    if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$bare.part/etc/"; fi
    apt-config dump | grep -E '^Acquire::[a-z:]*Proxy ' \
        >"$bare.part/etc/apt/apt.conf.d/machine" || true
    mv "$bare.part" "$bare"
}

# in_root ROOT ARCHIVES DIRECTORY COMMAND [ARGUMENT...]: the command in a
# directory of a root, in a namespace that takes its mounts with it. ARCHIVES
# keeps what apt downloads. The environment has nothing but what names
# certificates and proxies, pip's settings and ours.
in_root() {
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount --pid --fork --kill-child sh -euc '
        root=$1 archives=$2 directory=$3
        shift 3
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount --bind "$archives" "$root/var/cache/apt/archives"
        certificates=
        if [ -e "$root/etc/machine.crt" ]; then
            certificates="PIP_CERT=/etc/machine.crt SSL_CERT_FILE=/etc/machine.crt"
        fi
        # shellcheck disable=SC2046,SC2086 # one word a variable
        exec chroot "$root" /usr/bin/env -i \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            HOME=/root $(env | grep -E \
                "^(PIP_|DNNL_DEQUANT_|[a-zA-Z]*_(proxy|PROXY)=)[^ ]*$") \
            $certificates sh -c "cd $directory && exec \"\$@\"" sh "$@"' sh \
        "$@"
}

# dev_in_root FOLDER ARGUMENTS: ./dev in the copy of a root.
dev_in_root() {
    # shellcheck disable=SC2086 # one word an argument
    in_root "$1/copy" "$1/archives" "$fresh_clone" ./dev $2
}

# A clone of this tree, as it is with what is not committed yet.
clone_into() {
    git clone --quiet "$PWD" "$1"
    git diff --binary HEAD | git -C "$1" apply --allow-empty
}

# setup_bare_root SUITE: 77 where it cannot be made.
setup_bare_root() {
    if [ ! -e "$fresh/$1/bare" ]; then
        say "making a bare root of $1"
        # Not the condition of an `if`, which would switch `set -e` off inside.
        set +e
        (set -e; make_bare_root "$1") >build/fresh.log 2>&1 </dev/null
        set -e
    fi
    if [ ! -e "$fresh/$1/bare" ]; then
        say "NO ROOT of $1 could be made here (build/fresh.log)"
        return 77
    fi
}

# fresh_root SUITE: reads lines, each a command of ./dev with its arguments.
fresh_root() {
    setup_bare_root "$1" || return
    folder=$fresh/$1
    rm -rf "$folder/copy"
    cp -a "$folder/bare" "$folder/copy"
    clone_into "$folder/copy$fresh_clone"
    while read -r line; do
        say "fresh $1: ./dev $line"
        begin=$(date +%s)
        dev_in_root "$folder" "$line" </dev/null
        echo "fresh $1: ./dev $line: $(($(date +%s) - begin)) s"
    done
    rm -rf "$folder/copy"
}

# Every program is built; what runs are tests that lean on the machine, and of
# the others those that take no minutes.
fresh_sample="demo
test -LE ^(faults|stress|kernels)\$ -E [.]run[.]"

fresh_all='demo
test'

# run_fresh PORTION: all tests, a sample, or the least that tells releases
# apart: their compilers and packages. A warning is an error there.
run_fresh() {
    setup_fresh || return 77
    export DNNL_DEQUANT_WERROR=ON
    case $1 in
    all) trixie=$fresh_all bookworm=$fresh_all ;;
    sample) trixie=$fresh_sample bookworm=$fresh_sample ;;
    least) trixie=$fresh_sample bookworm=demo ;;
    esac
    [ "$1" = all ] || export DNNL_DEQUANT_TEST_EVERY=101
    echo "$trixie" | fresh_root trixie
    echo "$bookworm" | fresh_root bookworm
}
