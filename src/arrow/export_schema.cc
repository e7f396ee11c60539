#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "src/arrow/export.h"
#include "src/arrow/layout.h"
#include "src/arrow/metadata.h"
#include "src/arrow/schema.h"
#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/dtype/dtype.h"

namespace dlx::arrow {
namespace {

/// The private data of one level of an exported schema. It contains the child's struct, but the
/// child has its own node: it may be moved out and outlive its parent.
struct SchemaNode {
  char format[32];
  std::string metadata;
  ArrowSchema child{};
  ArrowSchema* children[1] = {&child};
};

void release_schema(ArrowSchema* schema) {
  auto* node = static_cast<SchemaNode*>(schema->private_data);
  if (node->child.release != nullptr) call_foreign(node->child.release, &node->child);
  delete node;
  schema->release = nullptr;
}

/// Fills one level; returns its node, which contains the child.
SchemaNode* fill_level(ArrowSchema* out, const char* name, bool has_child) {
  auto* node = new SchemaNode;
  *out = ArrowSchema{};
  out->format = node->format;
  out->name = name;
  out->flags = ARROW_FLAG_NULLABLE;
  out->n_children = has_child ? 1 : 0;
  out->children = has_child ? node->children : nullptr;
  out->private_data = node;
  out->release = release_schema;
  return node;
}

void format_list(SchemaNode* node, int64_t size) {
  std::snprintf(node->format, sizeof node->format, "+w:%lld", static_cast<long long>(size));
}

}  // namespace

void export_schema(Tensor* tensor, const ExportRequest& request, ArrowSchema* out) {
  const Layout layout = layout_of(tensor, request.layout, request.copy);
  const char* name = "";
  for (const int64_t size : layout.levels) {
    SchemaNode* node = fill_level(out, name, true);
    format_list(node, size);
    if (layout.is_tensor) {
      node->metadata = extension_metadata(kFixedShapeTensor,
                                          format_fixed_shape({layout.shape, layout.permutation}));
      out->metadata = node->metadata.data();
    }
    out = &node->child;
    name = "item";
  }
  SchemaNode* leaf = fill_level(out, name, false);
  std::snprintf(leaf->format, sizeof leaf->format, "%s", layout.format);
}

}  // namespace dlx::arrow
