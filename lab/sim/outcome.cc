#include "lab/sim/outcome.h"

namespace holdfast::lab::sim {

const char* to_text(Finding finding) {
  switch (finding) {
    case Finding::overlap: return "belief overlap";
    case Finding::harm_bare: return "harm without fence";
    case Finding::harm_write_fence: return "harm with write-only fence";
    case Finding::harm_full_fence: return "harm with full fence";
    case Finding::bad_token: return "token order";
    case Finding::broken_lease: return "lease promise";
    case Finding::unfair: return "fairness";
    case Finding::stranded: return "stranded";
    case Finding::no_progress: return "no progress";
  }
  return "?";
}

}  // namespace holdfast::lab::sim
