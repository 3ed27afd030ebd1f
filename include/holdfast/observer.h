// Observer: hears of everything that happens to a client's locks; feeds metrics, logs, dashboards
// and the checker. Calls come inside the client's loop, in the order in which things happened:
// keep them short, do not call Holdfast from them, do not throw.
#pragma once

#include "holdfast/engine.h"
#include "holdfast/export.h"

namespace holdfast {

class HOLDFAST_API Observer {
 public:
  virtual ~Observer() = default;

  // Each on_wait is followed by one on_granted or one on_refused with the same Claim::call.
  virtual void on_wait(const Claim&) {}                              // a call has begun
  virtual void on_retry(const Claim&, const Failure&) {}             // will be asked again soon
  virtual void on_granted(const Hold&, BootTime /*valid_until*/) {}  // it ended with a lease
  virtual void on_refused(const Claim&, const Failure&) {}           // it ended without
  virtual void on_renewed(const Hold&, BootTime /*valid_until*/) {}  //
  virtual void on_renewal_failed(const Hold&, const Failure&) {}     // will be tried again
  virtual void on_lost(const Hold&, BootTime /*valid_until*/) {}     // lost() is being triggered
  virtual void on_released(const Hold&, const Result<bool>& /*how*/) {}

  // The engine found something that endangers its locks; for a person to read. At most a few.
  virtual void on_warning(const std::string& /*text*/) {}
};

}  // namespace holdfast
