// Handles: what parses is a handle that can be written down again, and means the same.
#include "fuzz.h"
#include "holdfast/lease.h"

using namespace holdfast;  // NOLINT(google-build-using-namespace): a small program
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Handle> handle = Handle::parse(fuzz::text_of(data, size));
  if (!handle) {
    must(!handle.message().empty(), "who refuses says why");
    return 0;
  }
  const std::string text = handle->text();
  const Result<Handle> again = Handle::parse(text);
  must(again.ok(), "what was written can be read", text);
  must(again->text() == text, "and is the same", text);
  const Claim& a = handle->hold().claim;
  const Claim& b = again->hold().claim;
  must(a.name == b.name && a.id == b.id && a.mode == b.mode && a.permits == b.permits &&
           a.ttl == b.ttl && handle->hold().token == again->hold().token,
       "in all its parts", text);
  return 0;
}
