#pragma once
// oneDNN as a backend. The same code drives its CPU engine and, where the library was built with
// one, its GPU engine.

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/api/backend.hpp"

namespace assay::onednn {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

/// "oneDNN 3.2.0".
std::string library();
/// Message and status of an error of the library.
std::string words(const dnnl::error& error);
/// The answer to a request that ended with this error; CaseError if memory was insufficient.
/// `start` begins the reason: "a matmul (…, ".
Unsupported refusal(const dnnl::error& error, const std::string& start, const std::string& request);

/// Sets the number of OpenMP's threads, among which oneDNN divides the work. It is called when a
/// primitive is created and when it runs, because other code may change the number in between. 0 (a
/// GPU) sets nothing.
void set_threads(int threads);
/// Sets the threads of the options, or those of the engine's GPU, and returns them.
int set_threads(const dnnl::engine& engine, const Options& options);

}  // namespace assay::onednn
