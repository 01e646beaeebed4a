#include "core/base/hash.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <nlohmann/json.hpp>

namespace assay {

std::string content_hash(const std::string& kind, const nlohmann::json& content) {
  // Keys of a json object are sorted and blanks are left out, so equal content has equal text.
  const boost::uuids::name_generator_sha1 generator(boost::uuids::ns::url());
  return boost::uuids::to_string(
      generator("assay:" + kind + ":" +
                content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

}  // namespace assay
