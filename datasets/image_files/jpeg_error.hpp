#pragma once
// libjpeg's errors as messages. Private to this folder. libjpeg is C, so no exception may pass
// through it: an error jumps back to the caller, which then throws.

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace assay {

struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg hands back a pointer to it
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

inline JpegErrors& access_errors(j_common_ptr info) {
  return *reinterpret_cast<JpegErrors*>(info->err);
}

[[noreturn]] inline void jump_back(j_common_ptr info) {
  JpegErrors& errors = access_errors(info);
  errors.base.format_message(info, errors.text);
  std::longjmp(errors.back, 1);
}

/// Treats warnings about lost data as errors. Warnings about extra bytes or unimportant markers are
/// ignored, because some files of ImageNet cause them.
inline void judge_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      jump_back(info);
    default:
      return;
  }
}

/// Sets up `errors` for a compressor or decompressor.
inline jpeg_error_mgr* prepare_errors(JpegErrors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = jump_back;
  errors.base.emit_message = judge_message;
  errors.base.output_message = [](j_common_ptr) {};
  errors.text[0] = '\0';
  return &errors.base;
}

}  // namespace assay
