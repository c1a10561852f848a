#include "faults/interposer.hpp"

#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);
}

namespace dnnl_dequant {
namespace faults {

namespace {

enum class owner_t : unsigned char { nobody, other, plugin, onednn, openmp };

struct module_t {
    owner_t owner;
    uintptr_t begin, end;
};

std::array<module_t, 3> modules {};
size_t module_count = 0;

thread_local bool watched = false;
thread_local bool looking = false; // the walk itself may ask for memory
int countdown = 0;
bool failed = false, failed_for_pages = false;
std::atomic<bool> executable_forbidden {false};
std::atomic<int> rwx_requests {0};

int add_module(dl_phdr_info *info, size_t, void *) {
    const owner_t owner
            = std::strstr(info->dlpi_name, "libdnnl_dequant") ? owner_t::plugin
              : std::strstr(info->dlpi_name, "libdnnl.so")    ? owner_t::onednn
              : std::strstr(info->dlpi_name, "libgomp")       ? owner_t::openmp
                                                              : owner_t::other;
    if (owner == owner_t::other || module_count == modules.size()) return 0;
    module_t module {owner, UINTPTR_MAX, 0};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto &header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        module.begin = std::min(module.begin, begin);
        module.end = std::max(module.end, begin + header.p_memsz);
    }
    modules[module_count++] = module;
    return 0;
}

owner_t owner_of_code(uintptr_t address) {
    for (size_t i = 0; i < module_count; ++i)
        if (address >= modules[i].begin && address < modules[i].end)
            return modules[i].owner;
    return owner_t::other;
}

_Unwind_Reason_Code look_at_frame(_Unwind_Context *context, void *out) {
    const owner_t owner = owner_of_code(_Unwind_GetIP(context));
    if (owner == owner_t::other) return _URC_NO_REASON;
    *static_cast<owner_t *>(out) = owner;
    return _URC_NORMAL_STOP;
}

// Who called what returns to `caller`. It is most often one of the modules'
// own; to unwind the stack takes far longer than the request.
owner_t who_asks(const void *caller = nullptr) {
    if (!watched || looking) return owner_t::nobody;
    looking = true;
    if (module_count == 0) dl_iterate_phdr(add_module, nullptr);
    owner_t owner = owner_of_code(reinterpret_cast<uintptr_t>(caller));
    if (owner == owner_t::other) _Unwind_Backtrace(look_at_frame, &owner);
    looking = false;
    return owner;
}

bool fails(owner_t owner) {
    if (owner != owner_t::plugin || countdown == 0) return false;
    if (--countdown > 0) return false;
    failed = true;
    return true;
}

// The memory that is not freed yet, by address: open addressing, a spin lock,
// never full.
struct entry_t {
    uintptr_t address;
    owner_t owner;
    bool mapping;
};
constexpr size_t slots = 1u << 16;
entry_t entries[slots];
std::atomic_flag entries_lock = ATOMIC_FLAG_INIT;
held_t all_held;
constexpr uintptr_t removed = 1;

size_t slot_of(uintptr_t address) {
    return (address >> 4) * 0x9e3779b97f4a7c15u >> 48 & (slots - 1);
}

void count(const entry_t &entry, int by) {
    if (entry.mapping) all_held.mappings += by;
    else if (entry.owner == owner_t::plugin) all_held.plugin += by;
    else all_held.onednn += by;
}

void remember(void *pointer, owner_t owner, bool mapping) {
    if (pointer == nullptr
            || (owner != owner_t::plugin && owner != owner_t::onednn))
        return;
    while (entries_lock.test_and_set())
        ;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    size_t slot = slot_of(address);
    while (entries[slot].address > removed)
        slot = (slot + 1) % slots;
    entries[slot] = {address, owner, mapping};
    count(entries[slot], 1);
    entries_lock.clear();
}

void forget(void *pointer) {
    if (pointer == nullptr) return;
    while (entries_lock.test_and_set())
        ;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    for (size_t slot = slot_of(address); entries[slot].address != 0;
            slot = (slot + 1) % slots)
        if (entries[slot].address == address) {
            count(entries[slot], -1);
            entries[slot].address = removed;
            break;
        }
    entries_lock.clear();
}

template <typename Request>
void *given(const void *caller, const Request &request) {
    const owner_t owner = who_asks(caller);
    if (fails(owner)) {
        errno = ENOMEM;
        return nullptr;
    }
    void *const pointer = request();
    remember(pointer, owner, false);
    return pointer;
}

bool fails_for_pages(owner_t owner) {
    const bool result = fails(owner);
    failed_for_pages |= result;
    return result;
}

bool refused(int rights) {
    if ((rights & PROT_WRITE) && (rights & PROT_EXEC)) ++rwx_requests;
    if (!(rights & PROT_EXEC) || !executable_forbidden) return false;
    errno = EACCES;
    return true;
}

} // namespace

void watch(bool on) {
    watched = on;
}

void fail_request(int n) {
    countdown = n;
    failed = failed_for_pages = false;
}

bool request_failed() {
    return failed;
}

bool pages_failed() {
    return failed_for_pages;
}

void forbid_executable_memory(bool forbidden) {
    executable_forbidden = forbidden;
}

held_t held() {
    return all_held;
}

int writable_and_executable_requests() {
    return rwx_requests;
}

} // namespace faults
} // namespace dnnl_dequant

using namespace dnnl_dequant::faults;

// The libraries have to find these before libc's.
#pragma GCC visibility push(default)
extern "C" {

void *malloc(size_t size) {
    return given(
            __builtin_return_address(0), [=] { return __libc_malloc(size); });
}

void *calloc(size_t count, size_t size) {
    return given(__builtin_return_address(0),
            [=] { return __libc_calloc(count, size); });
}

void *realloc(void *old, size_t size) {
    return given(__builtin_return_address(0), [=] {
        forget(old);
        return __libc_realloc(old, size);
    });
}

void *memalign(size_t alignment, size_t size) {
    return given(__builtin_return_address(0),
            [=] { return __libc_memalign(alignment, size); });
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    *pointer = memalign(alignment, size);
    return *pointer ? 0 : ENOMEM;
}

void free(void *pointer) {
    forget(pointer);
    __libc_free(pointer);
}

void *mmap(void *address, size_t length, int rights, int flags, int file,
        off_t offset) noexcept {
    const owner_t owner = who_asks();
    if (refused(rights)) return MAP_FAILED;
    if (fails_for_pages(owner)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    const long result
            = syscall(SYS_mmap, address, length, rights, flags, file, offset);
    if (result == -1) return MAP_FAILED;
    remember(reinterpret_cast<void *>(result), owner, true);
    return reinterpret_cast<void *>(result);
}

int munmap(void *address, size_t length) noexcept {
    forget(address);
    return static_cast<int>(syscall(SYS_munmap, address, length));
}

int mprotect(void *address, size_t length, int rights) noexcept {
    if (refused(rights)) return -1;
    if (fails_for_pages(who_asks())) {
        errno = ENOMEM;
        return -1;
    }
    return static_cast<int>(syscall(SYS_mprotect, address, length, rights));
}

} // extern "C"

// libstdc++'s calls malloc, whose caller would be libstdc++. Its other forms
// call this one.
void *operator new(size_t size) {
    void *const pointer = given(__builtin_return_address(0),
            [=] { return __libc_malloc(size > 0 ? size : 1); });
    if (!pointer) throw std::bad_alloc();
    return pointer;
}

void operator delete(void *pointer) noexcept {
    free(pointer);
}

void operator delete(void *pointer, size_t) noexcept {
    free(pointer);
}

#pragma GCC visibility pop
