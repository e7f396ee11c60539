# frozen_string_literal: true

module Dlx
  # A tensor: an immutable description of memory, and a share in the memory's owner.
  class Tensor
    # What String#unpack calls the elements of a dtype.
    FORMATS = {
      'bool' => 'C', 'int8' => 'c', 'int16' => 's', 'int32' => 'l', 'int64' => 'q', 'uint8' => 'C',
      'uint16' => 'S', 'uint32' => 'L', 'uint64' => 'Q', 'float32' => 'f', 'float64' => 'd'
    }.freeze
    HOSTS = [Raw::KDLCPU, Raw::KDLCUDAHost, Raw::KDLROCMHost, Raw::KDLCUDAManaged].freeze
    COPY = { if_needed: 0, always: 1, never: 2 }.freeze
    ORDER = { c: 0, f: 1 }.freeze

    # A reference to a dlx_tensor, released once, by close or by the garbage collector.
    class Handle
      def initialize(address) = @address = address

      def address = @address || Library.invalid('dlx: the tensor is closed')
      def closed? = @address.nil?

      def release(*)
        address, @address = @address, nil
        Library.call(:dlx_tensor_release, address) if address
      end
    end
    private_constant :Handle

    class << self
      private :new

      # A new compact tensor, filled with zeros in host memory.
      def empty(shape, dtype = 'float32', device = 'cpu')
        where = Dlx.parse_device(device)
        extents = Library.numbers(shape, 'shape')
        tensor = make(:dlx_tensor_empty, shape.size, extents, Library.dtype(dtype), where[:type], where[:id], nil)
        tensor.send(:fill, "\0" * tensor.nbytes) if HOSTS.include?(where[:type])
        tensor
      end

      # A tensor of the numbers, in C order. (dlx owns the memory: Ruby may move its own.)
      def from(values, shape = nil, dtype = 'float32')
        Library.invalid("dlx: `values` is not an array of numbers (got #{values.class})") unless values.is_a?(Array)
        shape ||= [values.size]
        format = FORMATS[dtype] || Library.invalid("dlx: Ruby has no numbers of #{dtype}: from_bytes helps")
        from_bytes(values.pack("#{format}*"), dtype, shape)
      end

      # A new tensor of these bytes, for any dtype.
      def from_bytes(bytes, dtype, shape)
        tensor = empty(shape, dtype)
        return tensor.tap { |t| t.send(:fill, bytes) } if tensor.nbytes == bytes.bytesize

        expected = tensor.nbytes
        tensor.close
        Library.invalid("dlx: got #{bytes.bytesize} bytes (expected #{expected} for #{shape} of #{dtype})")
      end

      # A tensor on memory of C at an address, which the last user frees by `deleter`, the address of a function of C
      # (`void (*)(void *data, void *user_data)`; Fiddle::Handle::DEFAULT['free'] fits), on any thread. Without one
      # the memory must stay for ever. Strides are in elements.
      def wrap(address, shape, dtype = 'float32', strides: nil, readonly: false, deleter: 0, user_data: 0)
        extents = Library.numbers(shape, 'shape')
        steps = strides && Library.numbers(strides, 'strides')
        if strides && strides.size != shape.size
          Library.invalid("dlx: `strides` has #{strides.size} numbers (expected #{shape.size})")
        end
        code, bits, lanes = Library.dtype(dtype).unpack('CCS')
        kept = [extents, steps].compact.map { |numbers| Fiddle::Pointer[numbers] }
        description = [Library.integer(address, 'address', 65), Raw::KDLCPU, 0, shape.size, code, bits, lanes,
                       kept[0].to_i, kept[1].to_i, 0].pack('JlllCCSJJQ')
        flags = readonly ? Raw::DLPACK_FLAG_BITMASK_READ_ONLY : 0
        make(:dlx_tensor_wrap, description, flags, *[deleter, user_data].map { |to| Library.integer(to, 'deleter', 65) })
      end

      # Imports the DLManagedTensorVersioned at an address; a failed import calls its deleter.
      def from_dlpack(managed)
        Library.integer(managed, 'managed', 65)
        consumed = [0].pack('l')
        make(:dlx_tensor_from_dlpack_versioned, managed, consumed)
      rescue Error
        delete(managed, 16) if consumed && consumed.unpack1('l').zero?
        raise
      end

      # The same for the DLManagedTensor of DLPack before 1.0.
      def from_legacy_dlpack(managed)
        make(:dlx_tensor_from_dlpack, Library.integer(managed, 'managed', 65), 0)
      rescue Error
        delete(managed, 56)
        raise
      end

      # A tensor that owns a `dlx_tensor *`.
      def adopt(owned) = new(owned)

      # Makes a tensor by a call whose last parameter is the new one.
      def make(name, *values) = new(Library.made(name, *values))

      private

      # Calls the deleter, which stands at this offset.
      def delete(managed, offset)
        return if !managed.is_a?(Integer) || managed.zero?

        deleter = Fiddle::Pointer.new(managed)[offset, 8].unpack1('J')
        Fiddle::Function.new(deleter, [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(managed) unless deleter.zero?
      end
    end

    def initialize(address)
      @handle = Handle.new(address)
      ObjectSpace.define_finalizer(self, @handle.method(:release))
    end

    # The address of a DLManagedTensorVersioned, whose last holder calls its deleter.
    def to_dlpack = Library.made(:dlx_tensor_to_dlpack_versioned, handle, nil)
    def to_legacy_dlpack = Library.made(:dlx_tensor_to_dlpack, handle, nil)

    # The `dlx_tensor *`.
    def handle = @handle.address
    def closed? = @handle.closed?
    def ndim = Library.call(:dlx_tensor_ndim, handle)
    def shape = numbers(:dlx_tensor_shape)
    # In elements.
    def strides = numbers(:dlx_tensor_strides)
    def dtype = Library.written(:dlx_dtype_name, Library.call(:dlx_tensor_dtype, handle))
    def device = Library.written(:dlx_device_name, *where)
    def readonly? = Library.call(:dlx_tensor_flags, handle).allbits?(1)
    def size = Library.call(:dlx_tensor_size, handle)
    def nbytes = Library.call(:dlx_tensor_nbytes, handle)
    # Address of the first element.
    def address = Library.call(:dlx_tensor_data, handle).to_i

    def contiguous?(order = :c) = Library.call(:dlx_tensor_is_contiguous, handle, ORDER.fetch(order)) == 1

    # A part of one axis by Python's rules; nil is an omitted start or stop.
    def slice(axis, start = nil, stop = nil, step = 1)
      open = Raw::DLX_SLICE_OPEN
      ends = [start, stop].map { |position| position.nil? ? open : Library.integer(position, 'position') }
      derive(:dlx_tensor_slice, axis(axis), *ends, Library.integer(step, 'step'))
    end

    def select(axis, index) = derive(:dlx_tensor_select, axis(axis), Library.integer(index, 'index'))
    def transpose = derive(:dlx_tensor_permute, nil)

    def permute(axes)
      numbers = Library.numbers(axes, 'axes', 'l')
      return derive(:dlx_tensor_permute, numbers) if axes.size == ndim

      Library.invalid("dlx_tensor_permute: `axes` has #{axes.size} numbers (expected #{ndim})")
    end

    def squeeze(axes = [])
      numbers = Library.numbers(axes, 'axes', 'l')
      derive(:dlx_tensor_squeeze, axes.size, axes.empty? ? nil : numbers)
    end

    def expand_dims(axis) = derive(:dlx_tensor_expand_dims, axis(axis))
    def broadcast_to(shape) = derive(:dlx_tensor_broadcast_to, shape.size, Library.numbers(shape, 'shape'))
    def bitcast(dtype) = derive(:dlx_tensor_bitcast, Library.dtype(dtype))
    def as_readonly = derive(:dlx_tensor_as_readonly)
    def contiguous(copy: :if_needed, order: :c) = derive(:dlx_tensor_contiguous, options(copy, order))
    # A compact, writable copy. (`dup` and `clone` are Ruby's.)
    def copy = derive(:dlx_tensor_clone, nil)

    def reshape(shape, copy: :if_needed)
      derive(:dlx_tensor_reshape, shape.size, Library.numbers(shape, 'shape'), options(copy, :c))
    end

    def to_device(name)
      where = Dlx.parse_device(name)
      derive(:dlx_tensor_to_device, where[:type], where[:id], nil)
    end

    def copy_from(source)
      Library.invalid('dlx: not a tensor') unless source.is_a?(Tensor)
      Library.check(:dlx_tensor_copy_from, handle, source.handle, nil)
      self
    end

    # One element; t[i, j] = value writes it.
    def [](*index)
      pointer, size, format = element(index)
      pointer[0, size].unpack1(format)
    end

    def []=(*index, value)
      pointer, size, format = element(index)
      raise Error.new(Raw::DLX_ERROR_READ_ONLY, 'dlx: the tensor is read-only') if readonly?

      pointer[0, size] = [value].pack(format)
    end

    # A copy of the bytes of all elements in C order.
    def bytes
      host = to_device('cpu')
      packed = host.contiguous
      packed.nbytes.zero? ? ''.b : Fiddle::Pointer.new(packed.address)[0, packed.nbytes]
    ensure
      [host, packed].compact.each(&:close)
    end

    # All elements in C order.
    def to_a = bytes.unpack("#{format}*")

    # Drops the tensor at once; the garbage collector does it later.
    def close
      ObjectSpace.undefine_finalizer(self)
      @handle.release
    end

    def to_s = closed? ? 'Tensor(closed)' : "Tensor(#{dtype}, #{shape}, #{device}#{', read-only' if readonly?})"
    alias inspect to_s

    # Copies would release the same reference twice.
    undef_method :dup, :clone

    private

    def derive(name, *values) = self.class.make(name, handle, *values)
    def axis(value) = Library.integer(value, 'axis', 32)
    def where = [Library.call(:dlx_tensor_device_type, handle), Library.call(:dlx_tensor_device_id, handle)]
    def fill(bytes) = bytes.empty? || Fiddle::Pointer.new(address)[0, bytes.bytesize] = bytes

    def numbers(name)
      count = ndim
      count.zero? ? [] : Library.call(name, handle)[0, 8 * count].unpack('q*')
    end

    def format
      FORMATS[dtype] || Library.invalid("dlx: Ruby has no numbers of #{dtype}: bitcast or bytes helps")
    end

    def options(copy, order)
      modes = [COPY[copy], ORDER[order]]
      Library.invalid("dlx: no such copy mode or order: #{copy}, #{order}") if modes.include?(nil)
      [48, *modes].pack('l3') + "\0" * 36
    end

    # Where an element lies, its size, and its format.
    def element(index)
      kind = format
      unless HOSTS.include?(where[0])
        raise Error.new(Raw::DLX_ERROR_UNSUPPORTED, "dlx: the CPU cannot access memory on #{device}")
      end
      extents = shape
      fits = index.size == extents.size && index.zip(extents).all? { |i, extent| i.is_a?(Integer) && i >= 0 && i < extent }
      raise IndexError, "dlx: the index is out of range (got #{index} for shape #{extents})" unless fits

      size = [0].pack(kind).bytesize
      offset = index.zip(strides).sum { |i, stride| i * stride }
      [Fiddle::Pointer.new(address + offset * size), size, kind]
    end
  end
end
