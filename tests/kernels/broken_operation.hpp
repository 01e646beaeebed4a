#pragma once
// An operation that is right, and what is done to it: faults that verification must find.

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/operation.hpp"

namespace assay::broken {

/// Round to nearest even at a significand of `bits`.
inline double round_bits(double value, int bits) {
  const int dropped = 53 - bits;
  auto pattern = std::bit_cast<std::uint64_t>(value);
  pattern += (std::uint64_t{1} << (dropped - 1)) - 1 + ((pattern >> dropped) & 1);
  return std::bit_cast<double>(pattern & ~((std::uint64_t{1} << dropped) - 1));
}

/// A fault that is added to an operation that is right.
struct Fault {
  std::string output{};           ///< one element of it is wrong by `error`
  std::optional<double> error{};  ///< by default its root mean square
  int operand_bits = 0;           ///< inputs are rounded to so many bits first: tf32 has 11, bf16 8
  bool keeps_saved = false;       ///< the prologue is made once alone
  int from_run = 1;               ///< the first one whose output is wrong
  double scale = 1;               ///< if not 1: all elements of `output` (all outputs) times it
};

class BrokenOperation final : public Operation {
 public:
  BrokenOperation(std::unique_ptr<Operation> inner, Device& device, Fault fault)
      : inner_(std::move(inner)), device_(device), fault_(std::move(fault)) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
    inner_->bind(tensors);
  }
  void prologue(Stream& stream) override {
    if (fault_.keeps_saved && has_run_) return;
    has_run_ = true;
    if (fault_.operand_bits > 0)
      for (Tensor* tensor : tensors_)
        if (tensor->spec().role == Role::input)
          change(*tensor, [&](std::vector<double>& values) {
            for (double& value : values) value = round_bits(value, fault_.operand_bits);
          });
    inner_->prologue(stream);
  }
  void run(Stream& stream) override {
    inner_->run(stream);
    if (++runs_ < fault_.from_run) return;
    if (fault_.scale != 1) return scale();
    for (Tensor* tensor : tensors_)
      if (tensor->spec().name == fault_.output)
        change(*tensor, [&](std::vector<double>& values) {
          double squares = 0;
          for (const double value : values) squares += value * value;
          values[values.size() / 3] +=
              fault_.error.value_or(std::sqrt(squares / static_cast<double>(values.size())));
        });
  }
  Execution execution() const override { return inner_->execution(); }

 private:
  void scale() {
    for (Tensor* tensor : tensors_) {
      const TensorSpec& spec = tensor->spec();
      if (spec.role == Role::output && (fault_.output.empty() || spec.name == fault_.output))
        change(*tensor, [&](std::vector<double>& values) {
          for (double& value : values) value *= fault_.scale;
        });
    }
  }
  template <class Change>
  void change(Tensor& tensor, const Change& apply) {
    std::vector<double> values;
    device_.get(tensor, [&](std::int64_t, std::span<const double> part) {
      values.insert(values.end(), part.begin(), part.end());
    });
    apply(values);
    device_.put(tensor, [&](std::int64_t first, std::span<double> out) {
      std::copy_n(values.begin() + first, out.size(), out.begin());
    });
  }

  std::unique_ptr<Operation> inner_;
  Device& device_;
  Fault fault_;
  bool has_run_ = false;
  int runs_ = 0;
  std::vector<Tensor*> tensors_;
};

}  // namespace assay::broken
