#include "raw_worker.h"

#include <sstream>

#include "simple_worker.h"
#include "timing.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

// On a connection of its own.
class RawLock final : public SimpleLock {
 public:
  RawLock(std::unique_ptr<Raw> raw, std::string name)
      : raw_(std::move(raw)), name_(std::move(name)) {
    raw_->prepare(name_);
  }
  void acquire() override { raw_->acquire(name_); }
  void release() override { raw_->release(name_); }

 private:
  std::unique_ptr<Raw> raw_;
  std::string name_;
};

}  // namespace

int be_raw_worker(const MakeRaw& make, const std::string& what) {
  const std::size_t colon = what.find(':');
  const auto connect = [&make, kind = what.substr(0, colon),
                        port = std::stoi(what.substr(colon + 1))] { return make(kind, port); };
  return be_simple_worker(
      {.make = [&](const std::string& name) { return std::make_unique<RawLock>(connect(), name); },
       .answer_other = [&](const std::string& verb, std::istringstream& words) -> std::string {
         if (verb != "ping") return kUnknownLine;
         double seconds = 0;
         words >> seconds;
         const std::unique_ptr<Raw> raw = connect();
         return time_pairs(seconds, [&] { raw->ping(); });
       }});
}

}  // namespace holdfast::bench
