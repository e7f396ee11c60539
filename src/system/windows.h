// windows.h without what dlx does not use, and strings for its wide functions. Only for files of
// this folder.
#ifndef DLX_SRC_SYSTEM_WINDOWS_H_
#define DLX_SRC_SYSTEM_WINDOWS_H_

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
// clang-format off: psapi.h needs windows.h before it
#include <windows.h>
#include <psapi.h>
// clang-format on

#include <string>

namespace dlx::sys {

std::string to_utf8(const wchar_t* text, int length);
std::wstring to_wide(const char* text);

}  // namespace dlx::sys
#endif

#endif  // DLX_SRC_SYSTEM_WINDOWS_H_
