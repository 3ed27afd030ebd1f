// HOLDFAST_API marks what the shared library exports; all else stays inside it. In the static library
// nothing is marked, so that a shared object that contains it does not export Holdfast in turn.
// HOLDFAST_SHARED is defined by the package's own CMake and pkg-config files.
#pragma once

#ifdef HOLDFAST_SHARED
#define HOLDFAST_API [[gnu::visibility("default")]]
#else
#define HOLDFAST_API
#endif
