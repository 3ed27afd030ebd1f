// The guarantees of an engine or a server, and the findings of an examination, as JSON.
#pragma once

#include "holdfast/examination.h"
#include "session.h"

namespace holdfast::cli {

Json to_json(const Guarantees& can);
Json to_json(const Examination& found);

}  // namespace holdfast::cli
