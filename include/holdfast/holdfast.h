// Everything that a user of Holdfast may include, in one header.
#pragma once

#include "holdfast/client.h"
#include "holdfast/fence.h"
#include "holdfast/print.h"
#include "holdfast/redis_fence.h"
#include "holdfast/text.h"
#include "holdfast/version.h"
#include "holdfast/with_lock.h"
