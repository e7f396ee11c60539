// Stands in for the system's libgcc_s.so.1 while zig links libdlx.so for glibc, so that the unwinder is
// looked up there at run time. zig's own, linked in, would be a second one: pthread_exit() unwinds by the
// system's, and the functions that it meets in libdlx.so must ask that one.
extern "C" {
#define UNWIND(name) \
  void _Unwind_##name() {}
UNWIND(Backtrace)
UNWIND(DeleteException)
UNWIND(FindEnclosingFunction)
UNWIND(ForcedUnwind)
UNWIND(GetCFA)
UNWIND(GetDataRelBase)
UNWIND(GetGR)
UNWIND(GetIP)
UNWIND(GetIPInfo)
UNWIND(GetLanguageSpecificData)
UNWIND(GetRegionStart)
UNWIND(GetTextRelBase)
UNWIND(RaiseException)
UNWIND(Resume)
UNWIND(Resume_or_Rethrow)
UNWIND(SetGR)
UNWIND(SetIP)
}
