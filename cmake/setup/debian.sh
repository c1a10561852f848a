# shellcheck shell=sh
# Sourced by ./dev. What the project needs from apt, installed where it is
# missing. Never asks which release the machine is: Debian 12 whose libc came
# from 13 says that it is 13. Asks what apt offers instead.
# shellcheck disable=SC2034 # ./dev reads the lists

onednn_least=3.7

# Each list has what its row of commands needs besides the row above.
library_packages='g++ cmake ninja-build libdnnl-dev libxbyak-dev'
bench_packages='python3 python3-venv nlohmann-json3-dev libcli11-dev'
test_packages='pkg-config libgtest-dev libgmock-dev clang-format-19
    shellcheck qemu-user chromium-headless-shell fonts-dejavu-core'
trixie_sources=/etc/apt/sources.list.d/dnnl-dequant-trixie.sources
trixie_pins=/etc/apt/preferences.d/dnnl-dequant-trixie

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing needs root; as root run: ./dev setup"
    fi
}

apt_as_root() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
        -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The packages that are missing, or too old, one a line.
missing_packages() {
    for package in $apt_packages; do
        is_installed "$package" || echo "$package"
    done
    if is_installed libdnnl-dev; then
        version=$(dpkg-query -W -f '${Version}' libdnnl-dev)
        dpkg --compare-versions "$version" ge $onednn_least || echo libdnnl-dev
    fi
}

# The version of oneDNN that apt would install.
onednn_candidate() {
    LC_ALL=C apt-cache policy libdnnl-dev | awk '/Candidate:/ { print $2 }'
}

onednn_is_offered() {
    dpkg --compare-versions "$(onednn_candidate)" ge $onednn_least
}

# "FILE URI" of the apt source that holds Debian's main archive.
debian_source() {
    # shellcheck disable=SC2016 # apt's own placeholders
    apt-get indextargets --format \
        '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(RELEASE)|$(SOURCESENTRY)|$(REPO_URI)' \
        'Created-By: Packages' | awk -F '|' -v ours="$trixie_sources" '
        $1 == "Debian" && $2 == "Debian" && $3 == "main" && $4 !~ /-/ {
            sub(/:[0-9]+$/, "", $5)
            if ($5 != ours) { print $5, $6; exit }
        }'
}

# signed_by FILE URI: the deb822 field that names the keys of that source;
# nothing where the source relies on the machine's trusted keys.
signed_by() {
    case $1 in
    *.sources)
        awk -v uri="${2%/}" 'BEGIN { RS = "" }
        {
            found = 0
            for (i = 1; i <= NF; i++) {
                word = $i
                sub(/\/+$/, "", word)
                if (word == uri) found = 1
            }
            if (!found) next
            count = split($0, lines, "\n")
            for (i = 1; i <= count; i++) {
                if (lines[i] ~ /^#/) continue
                if (lines[i] !~ /^[ \t]/) inside = tolower(lines[i]) ~ /^signed-by:/
                if (inside) print lines[i]
            }
            exit
        }' "$1" ;;
    *)
        awk -v uri="${2%/}" '$1 == "deb" {
            for (i = 2; i <= NF; i++) {
                word = $i
                sub(/\/+$/, "", word)
                if (word == uri && match($0, /signed-by=[^] ]+/)) {
                    keys = substr($0, RSTART + 10, RLENGTH - 10)
                    gsub(",", " ", keys)
                    print "Signed-By: " keys
                    exit
                }
            }
        }' "$1" ;;
    esac
}

# debian_suite SUITE: a deb822 source for another suite of the same archive.
debian_suite() {
    source=$(debian_source)
    [ -n "$source" ] || return 1
    cat <<END
Types: deb
URIs: ${source##* }
Suites: $1
Components: main
END
    signed_by "${source%% *}" "${source##* }"
}

# begin_private_apt FOLDER SUITE TYPES [APT-OPTION...]: goes to that folder, where
# apt has a state of its own and that suite only, of packages (deb) or of sources
# too (deb deb-src). The machine's sources stay as they are, and apt checks
# signatures as ever. A mirror that was last renewed weeks ago will do: an older
# package of a suite is as good for the tests.
begin_private_apt() {
    private_apt=$1 suite=$2 types=$3
    shift 3
    mkdir -p "$private_apt/lists/partial" "$private_apt/cache"
    cd "$private_apt" || return
    : >status
    debian_suite "$suite" | sed "s/^Types: deb\$/Types: $types/" >suite.sources
    private_apt apt-get update -o APT::Update::Error-Mode=any \
        -o Acquire::Check-Valid-Until=false "$@"
}

# private_apt COMMAND [ARGUMENT...]
private_apt() {
    command=$1
    shift
    "$command" -q -o Dir::Etc::SourceList="$private_apt/suite.sources" \
        -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State::Lists="$private_apt/lists" \
        -o Dir::State::Status="$private_apt/status" \
        -o Dir::Cache="$private_apt/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@"
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
    as_root tee "$trixie_sources" <build/trixie.sources >/dev/null
    as_root tee "$trixie_pins" >/dev/null <<'END'
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
    apt_packages="$*"
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        # shellcheck disable=SC2086 # on one line
        say "no apt here: install these yourself (Debian's names, oneDNN" \
            "$onednn_least or later):" $apt_packages
        return 0
    fi
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # on one line
    say "installing:" $missing
    apt_as_root update
    onednn_is_offered || add_trixie
    onednn_is_offered || die \
        "apt offers oneDNN $(onednn_candidate); $onednn_least or later is needed"
    # shellcheck disable=SC2086 # one word a package
    apt_as_root install --no-install-recommends $missing
}
