// nghttp2, loaded when the first HTTP/2 connection is made and not before, as OpenSSL is: whoever
// locks elsewhere pays nothing for it. The functions have their usual names, as members of
// `Nghttp2`.
#pragma once

#include <nghttp2/nghttp2.h>

#include "holdfast/result.h"

// name: all that we call.
#define HOLDFAST_NGHTTP2_FUNCTIONS(X)                          \
  X(nghttp2_session_callbacks_new)                             \
  X(nghttp2_session_callbacks_del)                             \
  X(nghttp2_session_callbacks_set_on_header_callback)          \
  X(nghttp2_session_callbacks_set_on_frame_recv_callback)      \
  X(nghttp2_session_callbacks_set_on_stream_close_callback)    \
  X(nghttp2_session_callbacks_set_on_data_chunk_recv_callback) \
  X(nghttp2_option_new)                                        \
  X(nghttp2_option_del)                                        \
  X(nghttp2_option_set_no_auto_ping_ack)                       \
  X(nghttp2_session_client_new2)                               \
  X(nghttp2_session_del)                                       \
  X(nghttp2_session_mem_recv)                                  \
  X(nghttp2_session_mem_send)                                  \
  X(nghttp2_session_want_read)                                 \
  X(nghttp2_session_resume_data)                               \
  X(nghttp2_session_set_local_window_size)                     \
  X(nghttp2_submit_ping)                                       \
  X(nghttp2_submit_settings)                                   \
  X(nghttp2_submit_request)                                    \
  X(nghttp2_submit_rst_stream)                                 \
  X(nghttp2_strerror)

namespace holdfast::internal {

struct Nghttp2 {
#define HOLDFAST_DECLARE(name) decltype(&::name) name = nullptr;
  HOLDFAST_NGHTTP2_FUNCTIONS(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

  // misconfigured, with what to install, if it is not there. Thread-safe.
  static Result<const Nghttp2*> load();
};

}  // namespace holdfast::internal
