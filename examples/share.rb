# dlx from Ruby, through Fiddle: memory that dlx owns, filled from Ruby. Run: ruby share.rb [LIBDLX]
#
# dlx owns the memory, because deleters run on any thread and Ruby closures must not.
require "fiddle/import"

module Dlx
  extend Fiddle::Importer
  dlload ARGV[0] || "libdlx.so.1"

  # DLManagedTensorVersioned with the fields of its DLTensor, device and dtype.
  Managed = struct ["uint32_t major", "uint32_t minor", "void *manager_ctx", "void *deleter",
                    "uint64_t flags", "void *data", "int32_t device_type", "int32_t device_id",
                    "int32_t ndim", "uint8_t code", "uint8_t bits", "uint16_t lanes",
                    "void *shape", "void *strides", "uint64_t byte_offset"]

  extern "const char *dlx_last_error()"
  extern "int dlx_tensor_empty(int, void *, void *, int, int, void *, void *)"
  extern "int dlx_tensor_select(void *, int, int64_t, void *)"
  extern "int dlx_tensor_permute(void *, void *, void *)"
  extern "int dlx_tensor_to_dlpack_versioned(void *, void *, void *)"
  extern "void *dlx_tensor_data(void *)"
  extern "void dlx_tensor_release(void *)"

  # Call a function that returns a new object through its last parameter.
  def self.new_by(function, *arguments)
    out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    status = send(function, *arguments, out)
    raise dlx_last_error.to_s unless status.zero?

    out.ptr
  end
end

float32 = [2, 32, 1].pack("CCS")
matrix = Dlx.new_by(:dlx_tensor_empty, 2, [2, 3].pack("q*"), float32, 1, 0, nil)
Dlx.dlx_tensor_data(matrix)[0, 24] = [0, 1, 2, 3, 4, 5].pack("e*")

begin
  Dlx.new_by(:dlx_tensor_select, matrix, 0, 9)
rescue RuntimeError => error
  puts error.message
end

transposed = Dlx.new_by(:dlx_tensor_permute, matrix, nil) # a view
Dlx.dlx_tensor_release(matrix) # the view keeps the memory
managed = Dlx::Managed.new(Dlx.new_by(:dlx_tensor_to_dlpack_versioned, transposed, nil))
Dlx.dlx_tensor_release(transposed)

shape, strides = [managed.shape, managed.strides].map { |p| p[0, 8 * managed.ndim].unpack("q*") }
values = managed.data[0, 4 * shape.inject(:*)].unpack("e*") # what a DLPack consumer gets
items = shape[0].times.flat_map do |i|
  shape[1].times.map { |j| values[i * strides[0] + j * strides[1]].to_i }
end
puts "(#{shape.join(", ")}): #{items.join(" ")}"
Fiddle::Function.new(managed.deleter, [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(managed)
