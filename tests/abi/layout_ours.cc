// The layout of our own dlpack.h, whatever official header is installed.
#define DLX_DLPACK_OWN
#include "dlx/dlpack.h"

#include "layout_table.h"

#if DLX_DLPACK_FOUND != 0
#error "an official header got in"
#endif

std::vector<LayoutRow> layout_ours() { return {LAYOUT_ROWS_0_6, LAYOUT_ROWS_1_3}; }
