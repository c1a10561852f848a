# shellcheck shell=sh
# Sourced by ./dev. Tests on an emulated CPU with AVX-512, AVX-VNNI, VNNI and
# bf16: Bochs, which has them where QEMU has none, boots a Linux of nothing but
# the tests (tests/emulated). It is unpacked in build, not installed.
# shellcheck disable=SC2154 # ./dev says how many jobs

emulator=$PWD/build/emulator
emulated=$PWD/build/emulated
emulated_programs='test_kernels test_lower e2e/test_e2e'

# Debian 13's Bochs is the first with bf16, and 12's kernel does not boot there.
# From source, since the package has a debugger in it and half a desktop behind.
make_emulator() {
    [ "$(uname -m)" = x86_64 ]
    setup_packages make xz-utils xorriso
    unpack emulator trixie \
        'linux-image-[0-9].*|bochsbios|vgabios|isolinux|syslinux-common|busybox-static' \
        'linux-image-cloud-amd64 bochsbios vgabios isolinux busybox-static'
    begin_private_apt "$emulator/apt" trixie deb-src
    apt-get -q source --download-only --tar-only bochs
    mkdir source
    tar -x -C source --strip-components 1 -f bochs_*.orig.tar.*
    cd source || return
    # 3.0 takes the upper half of vcvtne2ps2bf16 from behind its operand.
    sed -i '/VCVTNE2PS2BF16/,/^}/s/(op1\.vmm32u(n))/(op1.vmm32u(n - DWORD_ELEMENTS(len)))/' \
        cpu/avx/avx512_bf16.cc
    ./configure CFLAGS=-O2 CXXFLAGS=-O2 --with-nogui \
        --enable-all-optimizations --enable-cpu-level=6 --enable-x86-64 \
        --enable-avx --enable-evex --enable-amx --enable-cet \
        --disable-docbook --disable-show-ips --disable-stats
    make -j "$jobs" bochs
    mv bochs "$emulator/"
    rm -r "$emulator/apt"
}

# What every guest boots: Linux, and as its first files the tests, what they
# are linked with, and the list of what to run.
lay_out_guests() {
    tests=build/release/tests
    tree=$emulated/tree files=$emulator/files
    mkdir -p "$tree/bin" "$tree/dev" "$tree/proc" "$tree/sys" "$tree/lib64" \
        "$tree/tests/e2e" "$emulated/disk/isolinux"
    install tests/emulated/init "$tree/init"
    install "$files/usr/bin/busybox" "$tree/bin/busybox"
    for program in $emulated_programs; do
        strip -o "$tree/tests/$program" "$tests/$program"
        # "NAME => FILE (ADDRESS)", of the loader "FILE (ADDRESS)".
        ldd "$tests/$program" | awk '$2 == "=>" { print $3 }'
    done | sort -u | xargs cp -L -t "$tree/tests"
    cp -L /lib64/ld-linux-x86-64.so.2 "$tree/lib64/"
    (cd "$tree" && find . | bin/busybox cpio -o -H newc) \
        >"$emulated/disk/initrd"
    cp "$files"/boot/vmlinuz-* "$emulated/disk/isolinux/vmlinuz"
    cp "$files/usr/lib/ISOLINUX/isolinux.bin" \
        "$files/usr/lib/syslinux/modules/bios/ldlinux.c32" \
        "$emulated/disk/isolinux/"
}

# run_guest NUMBER COUNT SECONDS: one of COUNT that share the tests out. Words of
# a kernel's command line that it does not know are init's environment. Bochs
# ends with an error when its machine is switched off.
run_guest() {
    guest=$emulated/$1
    mkdir "$guest"
    cp tests/emulated/bochsrc "$guest/"
    words="GTEST_TOTAL_SHARDS=$2 GTEST_SHARD_INDEX=$1 $(env |
        grep -E '^(DNNL_DEQUANT_TEST|ONEDNN)_[A-Z0-9_]*=[^ ]*$' | tr '\n' ' ')"
    sed "s|@words@|$words|" tests/emulated/isolinux.cfg \
        >"$emulated/disk/isolinux/isolinux.cfg"
    xorriso -as mkisofs -quiet -o "$guest/boot.iso" -b isolinux/isolinux.bin \
        -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
        "$emulated/disk" 2>"$guest/xorriso.log"
    (cd "$guest" && exec timeout "$3" "$emulator/bochs" -q -f bochsrc \
        >run.log 2>&1 </dev/null) &
    guests="$guests $!"
}

# run_emulated SECONDS LIST: what stands in the list, on as many guests as there
# are cores, but no more than two. Fails where a test failed, where nothing ran,
# and where a guest did not come to its end; 77 where there is no emulator or
# its machine did not start.
run_emulated() {
    once emulator/bochs "the emulator (Bochs) and its Linux" make_emulator
    [ -e "$emulator/bochs" ] || return 77
    cmake --preset release
    # shellcheck disable=SC2046,SC2086 # one word a program
    build release --target $(basename -a $emulated_programs)
    rm -rf "$emulated/tree" "$emulated/disk" "$emulated"/[0-9]
    mkdir -p "$emulated/tree/tests"
    list=$emulated/tree/tests/list
    grep -v '^#' "$2" >"$list"
    lay_out_guests 2>"$emulated/lay_out.log"
    say "emulating, for $1 seconds at most: build/emulated/*/serial"
    guests=
    # What runs in the background hears of no interrupt.
    trap 'kill $guests 2>/dev/null; exit 130' INT TERM
    count=$((jobs > 1 ? 2 : 1))
    for number in $(seq 0 $((count - 1))); do
        run_guest "$number" $count "$1"
    done
    # shellcheck disable=SC2086 # one word a guest
    wait $guests || true
    trap - INT TERM
    for number in $(seq 0 $((count - 1))); do
        text=$(tr -d '\r' <"$emulated/$number/serial") || true
        echo "$text"
        echo "$text" | grep -q '^status [0-9]' || echo "lost $number"
    done >"$emulated/serial"
    if ! grep -q '^program ' "$emulated/serial"; then
        say "the emulated machine did not start: build/emulated/0/run.log"
        return 77
    fi
    awk -f tests/emulated/sum.awk "$list" "$emulated/serial"
}

# cmd_emulate [FILTER...]: gtest's filters, each on all programs.
cmd_emulate() {
    if [ $# -eq 0 ]; then
        run_emulated 1200 tests/emulated/all.list
        return
    fi
    mkdir -p "$emulated"
    for filter in "$@"; do
        for program in $emulated_programs; do
            echo "$program $filter ${DNNL_DEQUANT_TEST_EVERY-1}"
        done
    done >"$emulated/asked.list"
    run_emulated 7200 "$emulated/asked.list"
}
