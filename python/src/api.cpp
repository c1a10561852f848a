// The exported functions. No exception leaves them: each becomes a status and
// a sentence of the calling thread.

#include <cstdio>
#include <exception>
#include <new>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "program.hpp"

struct dnnl_dequant_python_program {
    dnnl_dequant_python::program_t program;
};

namespace {

// The size is fixed, so that running out of memory can be told too.
thread_local char message[512];

int fail(int status, const char *sentence) {
    std::snprintf(message, sizeof(message), "%s", sentence);
    return status;
}

// The plugin's sentence names what was found and what was expected.
int fail(const dnnl::error &error) {
    if (dnnl_dequant_last_refusal(message, sizeof(message)) > 0)
        return error.status;
    return fail(error.status, error.what());
}

template <typename function_t>
int guarded(const function_t &function) {
    try {
        return function();
    } catch (const dnnl::error &error) {
        return fail(error);
    } catch (const std::bad_alloc &) {
        return fail(dnnl_out_of_memory, "there is not enough memory");
    } catch (const std::exception &error) {
        return fail(dnnl_dequant_python_exception, error.what());
    } catch (...) {
        return fail(dnnl_dequant_python_exception, "an unknown exception");
    }
}

} // namespace

int dnnl_dequant_python_compile(const dnnl_dequant_python_graph_t *graph,
        dnnl_dequant_python_program_t **program) {
    return guarded([&] {
        dnnl_dequant_last_refusal(nullptr, 0); // an earlier call's
        *program = new dnnl_dequant_python_program {
                dnnl_dequant_python::program_t(*graph)};
        return 0;
    });
}

int dnnl_dequant_python_execute(const dnnl_dequant_python_program_t *program,
        void *first, void *second, void *third, void *fourth,
        void *const *others) {
    return guarded([&] {
        constexpr size_t direct = dnnl_dequant_python_direct_arguments;
        constexpr size_t most = 16;
        void *addresses[most] = {first, second, third, fourth};
        const size_t count = program->program.argument_count();
        if (count > most)
            return fail(dnnl_invalid_arguments, "too many arguments");
        for (size_t i = direct; i < count; ++i)
            addresses[i] = others[i - direct];
        if (!program->program.are_aligned(addresses))
            return fail(dnnl_dequant_python_misaligned,
                    "an address is no multiple of its element's size");
        program->program.execute(addresses);
        return 0;
    });
}

void dnnl_dequant_python_destroy(dnnl_dequant_python_program_t *program) {
    delete program;
}

const char *dnnl_dequant_python_kernel(
        const dnnl_dequant_python_program_t *program) {
    return program->program.kernel();
}

const char *dnnl_dequant_python_message(void) {
    return message;
}

int dnnl_dequant_python_info(dnnl_dequant_python_info_t *info) {
    return guarded([&] {
        const dnnl_version_t *onednn = dnnl_version();
        info->plugin = dnnl_dequant_version();
        info->onednn[0] = onednn->major;
        info->onednn[1] = onednn->minor;
        info->onednn[2] = onednn->patch;
        info->isa = static_cast<int32_t>(dnnl_get_effective_cpu_isa());
        info->policy = dnnl_dequant_policy();
        info->enabled = dnnl_dequant_enabled();
        return 0;
    });
}
