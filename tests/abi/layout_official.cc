// Compares every constant and type of the official DLPack header on the include path with ours.
// Exits with 1 if anything differs.
#include <dlpack/dlpack.h>

#include <cstdio>
#include <cstring>

#include "layout_table.h"

#ifdef DLX_DLPACK_H_
#error "our own header got in"
#endif

static std::vector<LayoutRow> layout_official() {
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 2
  return {LAYOUT_ROWS_0_6, LAYOUT_ROWS_1_3};
#else
  return {LAYOUT_ROWS_0_6};
#endif
}

static const LayoutRow* find(const std::vector<LayoutRow>& rows, const char* name) {
  for (const LayoutRow& row : rows)
    if (std::strcmp(row.name, name) == 0) return &row;
  return nullptr;
}

int main() {
  const std::vector<LayoutRow> ours = layout_ours();
  const std::vector<LayoutRow> official = layout_official();
  int differences = 0;
  for (const LayoutRow& theirs : official) {
    const LayoutRow* row = find(ours, theirs.name);
    if (row && row->value == theirs.value && std::strcmp(row->type, theirs.type) == 0) continue;
    ++differences;
    std::printf("%s: official %lld %s, ours %lld %s\n", theirs.name, theirs.value, theirs.type,
                row ? row->value : -1, row ? row->type : "missing");
  }
  std::printf("%zu rows compared, %d differ\n", official.size(), differences);
  return differences == 0 ? 0 : 1;
}
