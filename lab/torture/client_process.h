// ClientProcess: a client of the laboratory as a process of its own, so that it can be stopped and
// killed like any other. It is told what to do by lines on standard input; each gets one line of
// answer. Its observations go to the history.
//
//   open NAME FOLDER LOCK RECIPE URL        ready | failed WHY
//   acquire TTL_MS PATIENCE_MS renew|once   granted TOKEN | CODE      as a reader, if the word
//                                           "shared" follows
//   held                                    yes | no
//   step SHEET checked|blind                ok | not-held | barred    its first step on a sheet
//                                           reads, its second writes
//   send SHEET                              sent | not-held           the write leaves, and only
//                                           the caller knows when it arrives: see Actor::deliver()
//   stop POINT                              continued                 raise(SIGSTOP)
//   release                                 ok | CODE
//   contend MS TTL_MS SEED PAUSES           done SECTIONS             takes turns with the others
//                                           for so long; PAUSES of 1000 times it stops itself.
//                                           Three more numbers may follow: its first turn lasts so
//                                           many ms, a section at most, and the time between turns
//   stop-between on|off                     ok                        (recipe setnx-expire)
#pragma once

#include <iosfwd>

namespace holdfast::lab {

// Until the input ends. The status of the process.
int run_client_process(std::istream& in, std::ostream& out);

}  // namespace holdfast::lab
