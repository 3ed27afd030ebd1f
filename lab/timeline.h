// Timeline: a run as a picture (SVG): a lane for each client, with its holds, pauses and tokens and
// what the three kinds of resource answered it; faults above; overlaps as a band across.
//
// Time goes to the right but not evenly: what happens within a millisecond is drawn apart, and
// seconds in which nothing happens are short. The figures below say when it was.
#pragma once

#include <string>

#include "lab/checker.h"
#include "lab/history.h"

namespace holdfast::lab {

// A whole SVG document, without outside resources, light or dark as the reader prefers. Of the
// resources it shows the one sheet on which most went wrong, and there the register.
// A long history (a random run) is cut to `max_events` around the first thing that went wrong.
std::string timeline_svg(const History& history, const Diagnosis& finding, const std::string& title,
                         std::size_t max_events = 160);

}  // namespace holdfast::lab
