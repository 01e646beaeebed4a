#pragma once
// The energy of a GPU, by NVML.

#include <memory>
#include <string>

#include "core/machine/energy.hpp"

namespace assay::cuda {

/// The counter of the GPU with this PCI address ("0000:1b:00.0"): one domain "gpu N", where N is
/// the number in nvidia-smi. It counts the energy of the whole board since the driver was loaded
/// (GPUs of compute capability 7.0 and later). NVML's reason if there is none.
Result<std::unique_ptr<EnergyMeter>> open_gpu_energy(const std::string& pci_address);

}  // namespace assay::cuda
