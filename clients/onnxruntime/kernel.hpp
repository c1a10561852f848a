// Runs the nodes of one claim: programs by input shape, and states for runs at
// the same time.
#ifndef DNNL_DEQUANT_ORT_KERNEL_HPP
#define DNNL_DEQUANT_ORT_KERNEL_HPP

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "forms.hpp"
#include "run_state.hpp"
#include "threads.hpp"

namespace dnnl_dequant::ort {

class kernel_t {
public:
    // `claim` points into `model`. `ports`: the kernel's inputs and outputs by
    // place; an input that the claim does not know is null.
    kernel_t(const OrtApi &api, std::shared_ptr<const model_t> model,
            claim_t claim, kernel_ports_t ports, const settings_t &settings,
            std::shared_ptr<threads_t> threads);
    ~kernel_t();
    kernel_t(const kernel_t &) = delete;
    kernel_t &operator=(const kernel_t &) = delete;

    // Any number of threads at once.
    void compute(OrtKernelContext *context);

private:
    using shapes_t = std::vector<dims_t>;
    using shared_program_t = std::shared_ptr<const program_t>;

    std::unique_ptr<run_state_t> take_state();
    void give_back(std::unique_ptr<run_state_t> state);
    shared_program_t program_for(const shapes_t &shapes, bool is_frequent);
    std::string described(const shapes_t &shapes) const;
    bool are_stated(const shapes_t &shapes) const;
    bool may_repack(const shapes_t &shapes) const;

    const OrtApi &api_;
    const std::shared_ptr<const model_t> model_;
    const claim_t claim_;
    const kernel_ports_t ports_;
    const settings_t settings_;
    const std::shared_ptr<threads_t> threads_;
    const dnnl::engine engine_;
    const run_state_t::find_program_t find_program_;

    // The state that the last run gave back. Runs one after the other take no
    // lock.
    std::atomic<run_state_t *> warm_ {nullptr};
    std::mutex mutex_;
    std::vector<std::unique_ptr<run_state_t>> idle_;
    owned_t owned_;
    struct known_t {
        shapes_t shapes;
        shared_program_t program;
        bool is_repacked;
    };
    // oldest first
    std::vector<known_t> programs_;
};

} // namespace dnnl_dequant::ort

#endif
