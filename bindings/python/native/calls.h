/* What the Python package adds to holdfast/c.h. No thread of the library ever runs Python: a callback writes to an
 * eventfd, and Python waits for that, in poll() or in an event loop. So no callback needs the GIL, an interpreter can
 * end while callbacks come, and a signal ends a wait.
 *
 * A pyhf_call owns all that an acquire leads to, from before it begins: an exception (KeyboardInterrupt) that comes
 * between any two steps of Python loses nothing, because dropping the call ends the wait or gives the lock back. */
#pragma once

#include <holdfast/c.h>

typedef struct pyhf_call pyhf_call;

/* NULL without memory. Freed by pyhf_call_drop(), also while it is under way: the wait is then cancelled, and what
 * comes of it is given back. */
pyhf_call* pyhf_call_new(void);
void pyhf_call_drop(pyhf_call* call);
/* Ends the wait, or gives back what came of it, now. */
void pyhf_call_discard(pyhf_call* call);
/* Ends the wait. From any thread. */
void pyhf_call_cancel(pyhf_call* call);

/* On this thread. */
hf_code pyhf_acquire(pyhf_call* call, hf_lock* lock, int64_t patience_ms);
hf_code pyhf_try(pyhf_call* call, hf_lock* lock);
hf_code pyhf_adopt(pyhf_call* call, hf_client* client, const char* handle,
                   const hf_lock_options* options);

/* In the background: a descriptor that becomes readable when the call has ended, then pyhf_result(). -1: HF_EXHAUSTED. */
int pyhf_begin_acquire(pyhf_call* call, hf_lock* lock, int64_t patience_ms);
int pyhf_begin_release(pyhf_call* call, hf_lease* lease);
hf_code pyhf_result(pyhf_call* call);

/* Of a call that has ended; they belong to it. */
hf_lease* pyhf_lease(pyhf_call* call);
const hf_error* pyhf_failure(const pyhf_call* call);

/* A descriptor that becomes, and stays, readable when the lease of `call` is lost or has ended; -1 without one. */
int pyhf_watch_loss(pyhf_call* call);
#define PYHF_HELD 0
#define PYHF_LOST 1
#define PYHF_ENDED 2
int pyhf_loss(pyhf_call* call);
/* The lease was released or detached, with this outcome (HF_NOT_HELD: it had been lost): who waits for its loss need not
 * wait any more. */
void pyhf_end_watch(pyhf_call* call, hf_code outcome);

/* Free what a function of holdfast/c.h has put there. In C: a signal whose handler raises cannot come in between. */
void pyhf_free_error(hf_error** slot);
void pyhf_free_client(hf_client** slot);
void pyhf_free_lock(hf_lock** slot);
void pyhf_free_locks(hf_locks** slot);
void pyhf_free_fence(hf_fence** slot);
void pyhf_free_pass(hf_pass** slot);
void pyhf_free_text(char** slot);
