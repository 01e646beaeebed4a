// A fake CUPTI: whatever ran, it tells that the kernels of FAKE_CUPTI_KERNELS did ("one;two"). For
// use with LD_PRELOAD. Each takes FAKE_CUPTI_US (default 5). FAKE_CUPTI_KERNELS_NAME and
// FAKE_CUPTI_US_NAME are those of cuDNN's algorithm NAME.
#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" __attribute__((weak)) const char* fake_cudnn_ran();

namespace {

/// The variable, for the algorithm that ran if there is one of it.
const char* told_by(const std::string& variable, const char* otherwise) {
  const char* found = nullptr;
  if (fake_cudnn_ran != nullptr) found = std::getenv((variable + "_" + fake_cudnn_ran()).c_str());
  if (found == nullptr) found = std::getenv(variable.c_str());
  return found == nullptr ? otherwise : found;
}

CUpti_BuffersCallbackRequestFunc give = nullptr;
CUpti_BuffersCallbackCompleteFunc take = nullptr;
std::vector<std::string> names;
std::vector<CUpti_ActivityKernel9> records;
std::size_t told = 0;

}  // namespace

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  give = request;
  take = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::string rest = told_by("FAKE_CUPTI_KERNELS", "");
  names.clear();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    names.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  records.assign(names.size(), {});
  for (std::size_t i = 0; i < names.size(); ++i) {
    records[i].kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    records[i].name = names[i].c_str();
    records[i].start = 1000;
    records[i].end = 1000 + 1000 * std::strtoull(told_by("FAKE_CUPTI_US", "5"), nullptr, 10);
  }
  told = 0;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  give(&buffer, &size, &most);
  take(nullptr, 0, buffer, size, size);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, CUpti_Activity** record) {
  if (told == records.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(&records[told++]);
  return CUPTI_SUCCESS;
}

}  // extern "C"
