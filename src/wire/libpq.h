// libpq, PostgreSQL's client library, loaded when the first connection is made and not before: it
// brings a dozen libraries along, which would cost every start of the command. The functions have
// their usual names, as members of `LibPq`.
#pragma once

#include <libpq-fe.h>

#include "holdfast/result.h"

// name: all that we call.
#define HOLDFAST_LIBPQ_FUNCTIONS(X) \
  X(PQconnectStartParams)           \
  X(PQconnectPoll)                  \
  X(PQstatus)                       \
  X(PQsocket)                       \
  X(PQfinish)                       \
  X(PQerrorMessage)                 \
  X(PQbackendPID)                   \
  X(PQsetnonblocking)               \
  X(PQsetNoticeReceiver)            \
  X(PQenterPipelineMode)            \
  X(PQpipelineSync)                 \
  X(PQsendPrepare)                  \
  X(PQsendQueryPrepared)            \
  X(PQsendQueryParams)              \
  X(PQflush)                        \
  X(PQconsumeInput)                 \
  X(PQisBusy)                       \
  X(PQgetResult)                    \
  X(PQresultStatus)                 \
  X(PQresultErrorField)             \
  X(PQresultErrorMessage)           \
  X(PQclear)                        \
  X(PQntuples)                      \
  X(PQnfields)                      \
  X(PQftype)                        \
  X(PQgetisnull)                    \
  X(PQgetlength)                    \
  X(PQgetvalue) X(PQcmdTuples) X(PQnotifies) X(PQfreemem)

namespace holdfast::internal {

struct LibPq {
#define HOLDFAST_DECLARE(name) decltype(&::name) name = nullptr;
  HOLDFAST_LIBPQ_FUNCTIONS(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

  // misconfigured, with what to install, if it is not there. Thread-safe.
  static Result<const LibPq*> load();
};

}  // namespace holdfast::internal
