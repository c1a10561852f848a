#!/bin/sh
# Every shell script parses as POSIX shell and pleases shellcheck.
# usage: check_shell.sh ROOT
set -eu
cd "$1"
for script in dev cmake/setup/*.sh tests/lint/*.sh tests/emulated/init; do
    sh -n "$script"
done
bash -n .ci/run
if command -v shellcheck >/dev/null; then
    shellcheck -x dev cmake/setup/*.sh tests/lint/*.sh tests/emulated/init \
        .ci/run
else
    echo "no shellcheck here: syntax alone was looked at"
fi
