#include "c/handles.h"

namespace c = holdfast::c;
using holdfast::FenceGate;
using holdfast::Result;

hf_code hf_fence_in_file(const char* file, hf_fence** fence, hf_error** error) {
  return c::making(fence, error, [&] { return FenceGate::in_file(&c::given(file, "the file")); });
}

hf_code hf_fence_in_sqlite(const char* database, const char* resource, size_t resource_length,
                           hf_fence** fence, hf_error** error) {
  return c::making(fence, error, [&] {
    return FenceGate::in_sqlite(&c::given(database, "the database"),
                                c::bytes(resource, resource_length, "the resource"));
  });
}

void hf_fence_free(hf_fence* fence) { delete fence; }

hf_code hf_fence_enter(hf_fence* fence, uint64_t token, hf_mode mode, hf_pass** pass,
                       hf_error** error) {
  return c::making(pass, error, [&] {
    return c::given(fence, "the fence").gate.enter({holdfast::Token(token), c::to_mode(mode)});
  });
}

void hf_pass_free(hf_pass* pass) { delete pass; }

hf_code hf_fence_mark(const hf_fence* fence, uint64_t* token, hf_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    uint64_t& out = c::given(token, "the pointer for the token");
    const Result<holdfast::Token> mark = c::given(fence, "the fence").gate.mark();
    if (!mark) return mark.failure();
    out = mark->value();
    return {};
  });
}
