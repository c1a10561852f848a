# shellcheck shell=sh
# Sourced by ./dev. Tests on an emulated CPU with AVX-512, AVX-VNNI, VNNI and
# bf16: Bochs, which has them where QEMU has none, boots a Linux of nothing but
# the tests (tests/emulated). All of it is unpacked in build, none of it
# installed.
# shellcheck disable=SC2154 # ./dev says how many jobs

emulator=$PWD/build/emulator
emulated=$PWD/build/emulated
emulated_programs='test_kernels test_lower e2e/test_e2e'
emulated_list=$emulated/tree/tests/list

# Debian 13's Bochs is the first with bf16, and 12's kernel does not boot there.
# From source, since the package has a debugger in it and half a desktop behind.
# Runs in a subshell with `set -e`: the first failure ends it.
fetch_emulator() {
    rm -rf "$emulator"
    mkdir -p "$emulator/files" "$emulator/source"
    begin_private_apt "$emulator/apt" trixie 'deb deb-src'
    kernel=$(private_apt apt-cache depends \
        linux-image-cloud-amd64 |
        awk '$1 == "Depends:" && $2 ~ /^linux-image/ { print $2; exit }')
    private_apt apt-get download "$kernel" \
        bochsbios vgabios isolinux syslinux-common busybox-static
    for package in *.deb; do
        # Of a kernel no modules, which are all but a tenth of it.
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$emulator/files" --exclude './usr/lib/modules' \
                --exclude './lib/modules'
    done
    mv "$emulator"/files/boot/vmlinuz-* "$emulator/files/boot/vmlinuz"
    private_apt apt-get source --download-only --tar-only bochs
    tar -x -C "$emulator/source" --strip-components 1 -f bochs_*.orig.tar.*
    cd "$emulator/source"
    # 3.0 takes the upper half of vcvtne2ps2bf16 from behind its operand.
    sed -i '/VCVTNE2PS2BF16/,/^}/s/(op1\.vmm32u(n))/(op1.vmm32u(n - DWORD_ELEMENTS(len)))/' \
        cpu/avx/avx512_bf16.cc
    ./configure CFLAGS=-O2 CXXFLAGS=-O2 --with-nogui \
        --enable-all-optimizations --enable-cpu-level=6 --enable-x86-64 \
        --enable-avx --enable-evex --enable-amx --enable-cet \
        --disable-docbook --disable-show-ips --disable-stats
    make -j "$jobs" bochs
    mv bochs "$emulator/"
    cd "$emulator"
    rm -r apt source
}

emulator_is_here() {
    [ -e "$emulator/bochs" ] && [ ! -e "$emulator/source" ] &&
        command -v xorriso >/dev/null
}

# Where it is not to be had, it is not here afterwards.
setup_emulator() {
    if emulator_is_here || [ "$(uname -m)" != x86_64 ]; then return 0; fi
    say "fetching and building the emulator (Bochs) and its Linux"
    # Not the condition of anything, which would switch `set -e` off inside.
    set +e
    (
        set -e
        setup_packages make xz-utils xorriso
        fetch_emulator
    ) >build/emulator.log 2>&1 </dev/null
    set -e
}

# What every guest boots: Linux, and as its first files the tests, what they
# are linked with, and the list of what to run.
lay_out_guests() {
    tests=build/release/tests
    tree=$emulated/tree
    mkdir -p "$tree/bin" "$tree/dev" "$tree/proc" "$tree/sys" "$tree/lib64" \
        "$tree/tests/e2e" "$emulated/disk/isolinux"
    install tests/emulated/init "$tree/init"
    install "$emulator/files/usr/bin/busybox" "$tree/bin/busybox"
    for program in $emulated_programs; do
        strip -o "$tree/tests/$program" "$tests/$program"
        # "NAME => FILE (ADDRESS)", of the loader "FILE (ADDRESS)".
        ldd "$tests/$program" | awk '$2 == "=>" { print $3 }'
    done | sort -u | while read -r library; do
        cp -L "$library" "$tree/tests/"
    done
    cp -L /lib64/ld-linux-x86-64.so.2 "$tree/lib64/"
    (cd "$tree" && find . | bin/busybox cpio -o -H newc) \
        >"$emulated/disk/initrd"
    cp "$emulator/files/boot/vmlinuz" \
        "$emulator/files/usr/lib/ISOLINUX/isolinux.bin" \
        "$emulator/files/usr/lib/syslinux/modules/bios/ldlinux.c32" \
        "$emulated/disk/isolinux/"
}

# start_guest NUMBER COUNT SECONDS: one of COUNT that share the tests out, behind
# this shell's back. Words of a kernel's command line that it does not know
# are init's environment.
start_guest() {
    guest=$emulated/$1
    mkdir "$guest"
    : >"$guest/serial"
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

# guests_ended COUNT: what every guest wrote to its serial line, as one sum a
# line of the list. Fails where a test failed, where nothing ran, and where a
# guest did not come to its end; 77 where none came to its beginning.
guests_ended() {
    begun=0
    : >"$emulated/serial"
    for guest in $(seq 0 $(($1 - 1))); do
        tr -d '\r' <"$emulated/$guest/serial" >"$emulated/$guest/text"
        grep -q '^program ' "$emulated/$guest/text" && begun=$((begun + 1))
        grep -q '^status [0-9]' "$emulated/$guest/text" ||
            echo "lost $guest" >>"$emulated/$guest/text"
        cat "$emulated/$guest/text" >>"$emulated/serial"
    done
    if [ $begun -eq 0 ]; then
        say "the emulated machine did not start: build/emulated/0/run.log"
        return 77
    fi
    awk -f tests/emulated/sum.awk "$emulated_list" "$emulated/serial"
}

# emulate_list SECONDS: what stands in the list, on as many guests as there are
# cores, but no more than two.
emulate_list() {
    rm -rf "$emulated/disk" "$emulated"/[0-9]
    count=$((jobs > 1 ? 2 : 1))
    lay_out_guests 2>"$emulated/lay_out.log"
    say "emulating, for $1 seconds at most: build/emulated/*/serial"
    guests=
    # What runs in the background hears of no interrupt.
    trap 'kill $guests 2>/dev/null; exit 130' INT TERM
    for guest_number in $(seq 0 $((count - 1))); do
        start_guest "$guest_number" $count "$1"
    done
    # Bochs ends with an error when its machine is switched off.
    # shellcheck disable=SC2086 # one word a guest
    wait $guests || true
    trap - INT TERM
    guests_ended $count
}

# run_emulated SECONDS LIST: 77 where there is no emulator.
run_emulated() {
    setup_emulator
    emulator_is_here || {
        say "NO EMULATOR (build/emulator.log): AVX-512 was not emulated"
        return 77
    }
    cmake --preset release
    # shellcheck disable=SC2046,SC2086 # one word a program
    build release --target $(basename -a $emulated_programs)
    rm -rf "$emulated/tree"
    mkdir -p "$emulated/tree/tests"
    grep -v '^#' "$2" >"$emulated_list"
    emulate_list "$1"
}

# emulate [FILTER...]: gtest's filters, each on all programs.
emulate() {
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
