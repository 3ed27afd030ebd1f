#include "holdfast/async.h"

#include "base/exhausted.h"

namespace holdfast::internal {

Failure current_failure() {
  try {
    throw;
  } catch (const LockError& problem) {
    return problem.failure();
  } catch (const std::system_error& problem) {
    if (problem.code().category() != std::generic_category() &&
        problem.code().category() != std::system_category()) {
      return Failure(Code::unreachable, problem.what());
    }
    return Failure(Code::unreachable, describe_error(problem.code().value()));
  } catch (const std::exception& problem) {
    return Failure(Code::unknown,
                   std::string("the call was ended by an exception: ") + problem.what());
  } catch (...) {
    return Failure(Code::unknown, "the call was ended by an exception");
  }
}

}  // namespace holdfast::internal
