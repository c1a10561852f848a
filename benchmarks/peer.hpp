#ifndef BENCHMARKS_PEER_HPP
#define BENCHMARKS_PEER_HPP

#include <memory>
#include <string>

#include "bench_case.hpp"
#include "child_process.hpp"

namespace dnnl_dequant {
namespace bench {

/// Another library in a process of its own, a Python program. They talk line by
/// line, in JSON, except for `run N`:
///
///   peer:  {"peer": "ONNX Runtime", "version": "1.2.3"}
///          or {"absent": "why"}, after which it ends
///   we:    {"op_type": ..., ...}           a row (onnx_row, onnx_product)
///   peer:  {"ready": true} or {"refused": "why"}
///   we:    run 5                           any number of times
///   peer:  {"seconds": [...], "cpu_seconds": [...]}    five of each
///
/// If its process dies, the next row starts another.
class peer_t {
public:
    peer_t(const std::string &python, const std::string &script);

    /// Why there is no such peer; empty where there is.
    const std::string &absence() const { return absence_; }
    /// Returns the name with its version, such as "ONNX Runtime 1.2.3".
    const std::string &name() const { return name_; }

    /// Makes the peer ready for a row. Empty, or why it will not run.
    std::string prepare(const std::string &row);
    /// Returns the time of so many runs after an untimed one; 0 if the peer is
    /// dead.
    double seconds_a_run(int runs, bool cpu_time);
    /// How the process ended in the midst of the last row; empty where not.
    const std::string &death() const { return death_; }

private:
    void start();
    /// Sends a line; the answer, empty where there is none.
    std::string ask(const std::string &line);

    std::string python_, script_, absence_, name_, death_;
    std::unique_ptr<child_process_t> process_;
};

/// Returns the case in ONNX's words, as a line of JSON:
///     {op_type, domain, opset, x, scale, zero_point (or null), y:
///      element types, shape, scale_shape, axis, block_size, threads}
/// @throws std::invalid_argument with a reason, if ONNX has no such op.
std::string onnx_row(const bench_case_t &c);

} // namespace bench
} // namespace dnnl_dequant

#endif
