#!/bin/sh
# cmake/setup/debian.sh finds Debian's archive among apt's sources, and nothing
# where there is none.
# usage: test_setup.sh ROOT
set -eu
. "$1/cmake/setup/debian.sh"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# An apt-get that prints what apt's would.
mkdir "$folder/bin"
cat >"$folder/bin/apt-get" <<'END'
#!/bin/sh
printf '%s\n' "$targets"
END
chmod +x "$folder/bin/apt-get"
export PATH="$folder/bin:$PATH" targets

# expect NAME TYPES URI: of the source that is made for suite `next`
expect() {
    wanted="Types: $2
URIs: $3
Suites: next
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg"
    [ -n "$3" ] || wanted=none
    found=$(debian_suite next "$2") || found=none
    if [ "$found" != "$wanted" ]; then
        echo "$1: expected:"; echo "$wanted"; echo "found:"; echo "$found"
        exit 1
    fi
}

targets="Vendor|Vendor|main|stable|/a.list:1|http://other/debian/
Debian|Debian-Security|main|now-security|/a.sources:1|http://host/debian-security/
Debian|Debian|main|now-updates|/a.sources:2|http://host/debian/
Debian|Debian|contrib|now|/a.sources:2|http://contrib/debian/
Debian|Debian|main|trixie|$trixie_sources:1|http://ours/debian/
Debian|Debian|main|now|/a.sources:2|http://host/debian/"
expect "deb822" deb http://host/debian/
expect "of sources" deb-src http://host/debian/
targets="Debian|Debian|main|now|/etc/apt/sources.list:3|http://host/debian/"
expect "one line" deb http://host/debian/
targets="Vendor|Vendor|main|stable|/a.list:1|http://other/debian/"
expect "no Debian archive" deb ""
echo "4 sets of sources"
