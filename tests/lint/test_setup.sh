#!/bin/sh
# cmake/setup/debian.sh finds Debian's archive and its keys in every form of
# apt source, and nothing where there is none.
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

# expect NAME TEXT: the source that is made for suite `next`
expect() {
    found=$(debian_suite next) || found=none
    if [ "$found" != "$2" ]; then
        echo "$1: expected:"; echo "$2"; echo "found:"; echo "$found"
        exit 1
    fi
}

made='Types: deb
URIs: http://host/debian/
Suites: next
Components: main'

targets="Vendor|Vendor|main|stable|$folder/vendor.list:1|http://other/debian/
Debian|Debian-Security|main|now-security|$folder/a.sources:1|http://host/debian-security/
Debian|Debian|main|now-updates|$folder/a.sources:2|http://host/debian/
Debian|Debian|contrib|now|$folder/a.sources:2|http://host/debian/
Debian|Debian|main|trixie|$trixie_sources:1|http://host/debian/
Debian|Debian|main|now|$folder/a.sources:2|http://host/debian/"

cat >"$folder/a.sources" <<'END'
# a comment
Types: deb
URIs: http://host/debian-security
Suites: now-security
Signed-By: /wrong.gpg

Types: deb
# Signed-By: /commented.gpg
URIs: http://elsewhere/ http://host/debian
Suites: now now-updates
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
Components: main
END
expect "deb822, key inside" "$made
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc"

targets="Debian|Debian|main|now|$folder/b.list:3|http://host/debian/"
cat >"$folder/b.list" <<'END'
deb [signed-by=/wrong.gpg] http://host/debian-security now-security main
# deb [signed-by=/commented.gpg] http://host/debian now main
deb [arch=amd64 signed-by=/one.gpg,/two.gpg] http://host/debian now main
END
expect "one line, keys named" "$made
Signed-By: /one.gpg /two.gpg"

targets="Debian|Debian|main|now|$folder/c.list:1|http://host/debian/"
echo 'deb http://host/debian now main' >"$folder/c.list"
expect "one line, the machine's keys" "$made"

targets="Vendor|Vendor|main|stable|$folder/vendor.list:1|http://other/debian/"
expect "no Debian archive" none
echo "4 forms of source"
