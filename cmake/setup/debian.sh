# shellcheck shell=sh
# Sourced by ./dev. What the project needs from apt. Asks what apt offers, never
# which release this is: Debian 12 whose libc came from 13 says that it is 13.
# shellcheck disable=SC2034 # ./dev reads the lists

onednn_least=3.7

# Each list has what its row of commands needs besides the row above.
library_packages='g++ cmake ninja-build libdnnl-dev libxbyak-dev'
bench_packages='python3 python3-venv nlohmann-json3-dev libcli11-dev'
test_packages='pkg-config libgtest-dev libgmock-dev clang-format-19
    clang-tidy-19 shellcheck qemu-user chromium-headless-shell
    fonts-dejavu-core'
trixie_sources=/etc/apt/sources.list.d/dnnl-dequant-trixie.sources
trixie_pins=/etc/apt/preferences.d/dnnl-dequant-trixie

sudo=sudo
[ "$(id -u)" -ne 0 ] || sudo=

apt_as_root() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
        -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# missing_packages PACKAGE...: those that are missing, or too old, one a line.
missing_packages() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status} ${Version}' "$package" \
            2>/dev/null) in
        'installed '*) ;;
        *) echo "$package" ;;
        esac
    done
    version=$(dpkg-query -W -f '${Version}' libdnnl-dev 2>/dev/null) || return 0
    [ -z "$version" ] || dpkg --compare-versions "$version" ge $onednn_least ||
        echo libdnnl-dev
}

# The version of oneDNN that apt would install.
onednn_candidate() {
    LC_ALL=C apt-cache policy libdnnl-dev | awk '/Candidate:/ { print $2 }'
}

# debian_suite SUITE [TYPES]: a deb822 source for another suite of the archive
# that apt's own sources name, of packages (deb) unless TYPES says otherwise.
# Every Debian has the archive's keys in that file.
debian_suite() {
    # shellcheck disable=SC2016 # apt's own placeholders
    uri=$(apt-get indextargets --format \
        '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(RELEASE)|$(SOURCESENTRY)|$(REPO_URI)' \
        'Created-By: Packages' | awk -F '|' -v ours="$trixie_sources" '
        $1 == "Debian" && $2 == "Debian" && $3 == "main" && $4 !~ /-/ &&
            index($5, ours) != 1 { print $6; exit }')
    [ -n "$uri" ] || return 1
    cat <<END
Types: ${2-deb}
URIs: $uri
Suites: $1
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
}

# Debian 12's oneDNN is 2.6. Debian 13's comes with 13's libc and compiler
# runtime; those follow 13 from then on (or a later install of g++ would find
# no libc6-dev that fits), and so do dpkg's build tools, whose older versions
# 13's libc6-dev breaks. Everything else stays where it is.
add_trixie() {
    debian_suite trixie >build/trixie.sources || die \
        "apt offers oneDNN $(onednn_candidate) here, and no Debian archive to" \
        "take a newer one from; oneDNN $onednn_least or later is needed"
    say "adding Debian 13 (trixie) for oneDNN: $trixie_sources, $trixie_pins"
    $sudo tee "$trixie_sources" <build/trixie.sources >/dev/null
    $sudo tee "$trixie_pins" >/dev/null <<'END'
Package: *
Pin: release n=trixie
Pin-Priority: 100

Package: src:glibc src:gcc-14 src:onednn src:base-files dpkg-dev libdpkg-perl
Pin: release n=trixie
Pin-Priority: 990
END
    apt_as_root update
}

# setup_packages PACKAGE...
setup_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "no apt here: install oneDNN $onednn_least or later and these: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    say "installing: $(echo "$missing" | tr '\n' ' ')"
    apt_as_root update
    dpkg --compare-versions "$(onednn_candidate)" ge $onednn_least || add_trixie
    # shellcheck disable=SC2086 # one word a package
    apt_as_root install --no-install-recommends $missing
}
