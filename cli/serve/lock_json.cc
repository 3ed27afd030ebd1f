#include "serve/lock_json.h"

#include <nlohmann/json.hpp>

#include "lock_info.h"

namespace holdfast::cli::serve {

Json lock_json(const std::string& engine, const LockInfo& info) {
  Json object = {{"engine", engine}};
  object.update(cli::to_json(info));
  object["path"] = percent_encoded(info.name.bytes());
  return object;
}

}  // namespace holdfast::cli::serve
