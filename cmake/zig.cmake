# Toolchain file: compiles for another system with zig (PyPI: ziglang). ./dev wheel --all uses it.
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/zig.cmake -DDLX_ZIG=path/of/zig -DDLX_TARGET=x86_64-linux-gnu.2.17
# DLX_TARGET is a target of zig: ARCHITECTURE-SYSTEM[.VERSION][-LIBC[.VERSION]].
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DLX_ZIG DLX_TARGET)
string(REGEX MATCH "^([^-]+)-([a-z]+)" target "${DLX_TARGET}")
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
if(CMAKE_MATCH_2 STREQUAL "linux")
  set(CMAKE_SYSTEM_NAME Linux)
elseif(CMAKE_MATCH_2 STREQUAL "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(CMAKE_MATCH_2 STREQUAL "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  message(FATAL_ERROR "DLX_TARGET is not a target of zig (got '${DLX_TARGET}', expected one such as "
                      "x86_64-linux-gnu.2.17)")
endif()

# CMake's questions are answered without linking, because zig's first link of a kind compiles the C++
# runtime. What only a link can answer:
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(DLX_LINKER_JOINS_PAGES OFF)

# CMake wants a compiler that is one program. -s: with -g0 alone, objects for Windows would name their own
# path in .debug$S. Unlike GCC and Clang, zig keeps frame pointers at -O2; without them a wheel for x86-64 is
# 1 % smaller.
set(options "-target ${DLX_TARGET} -s")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  string(APPEND options " -fomit-frame-pointer")
endif()
set(folder ${CMAKE_BINARY_DIR}/zig)
foreach(tool "c++ ${options}" "cc ${options}" ar ranlib rc)
  string(REGEX MATCH "^[^ ]+" name "${tool}")
  if(NOT EXISTS ${folder}/${name})
    file(WRITE ${folder}/new/${name} "#!/bin/sh
case \"$*\" in *CompilerId.c*) set -- -c \"$@\" ;; esac
exec '${DLX_ZIG}' ${tool} \"$@\"
")
    file(COPY ${folder}/new/${name} DESTINATION ${folder}
         FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endforeach()
set(CMAKE_C_COMPILER ${folder}/cc)
set(CMAKE_CXX_COMPILER ${folder}/c++)
set(CMAKE_AR ${folder}/ar)
set(CMAKE_RANLIB ${folder}/ranlib)
set(CMAKE_RC_COMPILER ${folder}/rc)
