package dlx;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.LongToIntFunction;
import java.util.function.LongUnaryOperator;

/**
 * A tensor: an immutable description of memory, and a share in the memory's owner.
 *
 * <p>Views share the memory and keep it alive; the last user frees it. {@link #close} drops a tensor at
 * once, the garbage collector does it later. All methods of a closed tensor throw {@link
 * IllegalStateException}. Threads may share a tensor; reads and writes of elements are not synchronised.
 */
public final class Tensor implements AutoCloseable {
  /** An omitted start or stop of {@link #slice}. */
  public static final long OPEN = Long.MIN_VALUE;

  static final Cleaner CLEANER = Cleaner.create();

  /** A call whose last parameter is a new tensor. */
  private interface Maker {
    int make(long handle, long[] out);
  }

  private final Handle handle;
  private final Cleaner.Cleanable cleanable;
  private final long[] shape;
  private final long[] strides;
  private final DType dtype;
  private final Device device;
  private final boolean readOnly;

  /** Takes ownership of a reference from C. */
  Tensor(long address) {
    handle = new Handle(address);
    cleanable = CLEANER.register(this, handle);
    Pointer t = new Pointer(Raw.dlx_tensor_dltensor(address));
    int ndim = t.getInt(Raw.DLTensor.ndim);
    shape = ndim == 0 ? new long[0] : t.getPointer(Raw.DLTensor.shape).getLongArray(0, ndim);
    strides = ndim == 0 ? new long[0] : t.getPointer(Raw.DLTensor.strides).getLongArray(0, ndim);
    dtype = DType.read(t, Raw.DLTensor.dtype);
    device = new Device(t.getInt(Raw.DLTensor.device), t.getInt(Raw.DLTensor.device + 4));
    readOnly = (Raw.dlx_tensor_flags(address) & Raw.DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  }

  private static Tensor make(long handle, Maker call) {
    long[] out = new long[1];
    DlxException.check(call.make(handle, out));
    return new Tensor(out[0]);
  }

  private Tensor derive(Maker call) {
    long address = handle.enter();
    try {
      return make(address, call);
    } finally {
      handle.leave();
      Reference.reachabilityFence(this);
    }
  }

  /** A new compact tensor whose data is not initialised. */
  public static Tensor empty(DType dtype, Device device, long... shape) {
    Memory d = Scratch.of(Raw.DLDataType.SIZE);
    dtype.write(d, 0);
    return make(0, (none, out) ->
        Raw.dlx_tensor_empty(shape.length, shape, Scratch.address(d), device.type(), device.id(), 0, out));
  }

  /** A new tensor of a copy of the values, in C order. (The JVM moves arrays: only direct buffers share.) */
  public static Tensor of(float[] values, long... shape) {
    Tensor tensor = sized(DType.FLOAT32, values.length, shape);
    tensor.buffer().asFloatBuffer().put(values);
    return tensor;
  }

  /** As {@link #of(float[], long...)}. */
  public static Tensor of(double[] values, long... shape) {
    Tensor tensor = sized(DType.FLOAT64, values.length, shape);
    tensor.buffer().asDoubleBuffer().put(values);
    return tensor;
  }

  /** As {@link #of(float[], long...)}. */
  public static Tensor of(int[] values, long... shape) {
    Tensor tensor = sized(DType.INT32, values.length, shape);
    tensor.buffer().asIntBuffer().put(values);
    return tensor;
  }

  /** As {@link #of(float[], long...)}. */
  public static Tensor of(long[] values, long... shape) {
    Tensor tensor = sized(DType.INT64, values.length, shape);
    tensor.buffer().asLongBuffer().put(values);
    return tensor;
  }

  private static Tensor sized(DType dtype, int length, long... shape) {
    Tensor tensor = empty(dtype, Device.CPU, shape);
    if (tensor.size() == length) return tensor;
    tensor.close();
    throw new DlxException.InvalidArgument(
        "dlx.Tensor.of: `shape` does not fit (got " + Arrays.toString(shape) + " for " + length + " values)");
  }

  /** A new tensor whose bytes are {@code bytes}, copied: for any dtype. */
  public static Tensor ofBytes(byte[] bytes, DType dtype, long... shape) {
    Tensor tensor = empty(dtype, Device.CPU, shape);
    if (tensor.nbytes() != bytes.length) {
      long expected = tensor.nbytes();
      tensor.close();
      throw new DlxException.InvalidArgument("dlx.Tensor.ofBytes: `bytes` has " + bytes.length
          + " bytes (expected " + expected + " for " + Arrays.toString(shape) + " of " + dtype + ")");
    }
    tensor.buffer().put(bytes);
    return tensor;
  }

  /**
   * A tensor on the memory of a direct buffer, which stays alive until the last user is done. Element [0, …]
   * is at the buffer's position.
   *
   * @param strides in elements; null: compact
   * @param onRelease called on any thread when nothing uses the memory any more; may be null
   */
  public static Tensor wrap(ByteBuffer buffer, DType dtype, long[] shape, long[] strides, Runnable onRelease) {
    if (!buffer.isDirect()) {
      throw new DlxException.InvalidArgument("dlx.Tensor.wrap: the buffer is not direct (the JVM moves its array)");
    }
    if (strides != null && strides.length != shape.length) {
      throw new DlxException.InvalidArgument("dlx.Tensor.wrap: `strides` has " + strides.length
          + " numbers (expected " + shape.length + ")");
    }
    if (!Extent.fits(buffer, dtype, shape, strides)) {
      throw new DlxException.InvalidArgument("dlx.Tensor.wrap: `shape` and `strides` do not fit into the buffer (got "
          + Arrays.toString(shape) + " and " + Arrays.toString(strides) + " of " + dtype + ", " + buffer + ")");
    }
    int ndim = shape.length;
    Memory t = Scratch.of(Raw.DLTensor.SIZE + 16L * ndim);
    t.setLong(Raw.DLTensor.data, Scratch.address(Native.getDirectBufferPointer(buffer)) + buffer.position());
    t.setInt(Raw.DLTensor.device, Raw.kDLCPU);
    t.setInt(Raw.DLTensor.ndim, ndim);
    dtype.write(t, Raw.DLTensor.dtype);
    long first = Scratch.address(t) + Raw.DLTensor.SIZE;
    t.write(Raw.DLTensor.SIZE, shape, 0, ndim);
    t.setLong(Raw.DLTensor.shape, first);
    if (strides != null) {
      t.write(Raw.DLTensor.SIZE + 8L * ndim, strides, 0, ndim);
      t.setLong(Raw.DLTensor.strides, first + 8L * ndim);
    }
    long flags = buffer.isReadOnly() ? Raw.DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    long owner = Owners.keep(() -> {
      Reference.reachabilityFence(buffer);
      if (onRelease != null) onRelease.run();
    });
    try {
      return make(0, (none, out) ->
          Raw.dlx_tensor_wrap(Scratch.address(t), flags, Owners.FUNCTION, owner, out));
    } catch (DlxException error) {
      Owners.forget(owner);
      throw error;
    } finally {
      Reference.reachabilityFence(t);
    }
  }

  /** A compact tensor on the memory of a direct buffer. */
  public static Tensor wrap(ByteBuffer buffer, DType dtype, long... shape) {
    return wrap(buffer, dtype, shape, null, null);
  }

  /** Imports the DLManagedTensorVersioned at an address; a failed import calls its deleter. */
  public static Tensor fromDLPack(long managed) {
    int[] consumed = new int[1];
    try {
      return make(0, (none, out) -> Raw.dlx_tensor_from_dlpack_versioned(managed, consumed, out));
    } catch (DlxException error) {
      if (consumed[0] == 0) deleteDLPack(managed);
      throw error;
    }
  }

  /** The same for the DLManagedTensor of DLPack before 1.0. */
  public static Tensor fromLegacyDLPack(long managed) {
    try {
      return make(0, (none, out) -> Raw.dlx_tensor_from_dlpack(managed, 0, out));
    } catch (DlxException error) {
      delete(managed, Raw.DLManagedTensor.deleter);
      throw error;
    }
  }

  /** Exports the tensor: the address of a DLManagedTensorVersioned, whose last holder calls its deleter. */
  public long toDLPack() {
    long[] out = new long[1];
    use(address -> Raw.dlx_tensor_to_dlpack_versioned(address, 0, out));
    return out[0];
  }

  /** The same for the DLManagedTensor of DLPack before 1.0. */
  public long toLegacyDLPack() {
    long[] out = new long[1];
    use(address -> Raw.dlx_tensor_to_dlpack(address, 0, out));
    return out[0];
  }

  /** Drops an export that nobody imported. */
  public static void deleteDLPack(long managed) {
    delete(managed, Raw.DLManagedTensorVersioned.deleter);
  }

  private static void delete(long managed, int deleter) {
    if (managed == 0) return;
    Pointer function = new Pointer(managed).getPointer(deleter);
    if (function == null) return;
    Function.getFunction(function).invoke(new Object[] {new Pointer(managed)});
  }

  private void use(LongToIntFunction call) {
    long address = handle.enter();
    try {
      DlxException.check(call.applyAsInt(address));
    } finally {
      handle.leave();
      Reference.reachabilityFence(this);
    }
  }

  private long ask(LongUnaryOperator call) {
    long address = handle.enter();
    try {
      return call.applyAsLong(address);
    } finally {
      handle.leave();
      Reference.reachabilityFence(this);
    }
  }

  public long[] shape() {
    return shape.clone();
  }

  /** Strides, in elements. */
  public long[] strides() {
    return strides.clone();
  }

  public DType dtype() {
    return dtype;
  }

  public Device device() {
    return device;
  }

  public boolean isReadOnly() {
    return readOnly;
  }

  public boolean isClosed() {
    return handle.isClosed();
  }

  /** Number of elements. */
  public long size() {
    return ask(Raw::dlx_tensor_size);
  }

  /** Size in bytes of all elements in compact form. */
  public long nbytes() {
    return ask(Raw::dlx_tensor_nbytes);
  }

  /** Address of the first element. It does not keep the memory alive. */
  public long address() {
    return ask(Raw::dlx_tensor_data);
  }

  public boolean isContiguous(Order order) {
    return ask(t -> Raw.dlx_tensor_is_contiguous(t, order.ordinal())) != 0;
  }

  /** A part of one axis by Python's rules; {@link #OPEN} is an omitted start or stop. */
  public Tensor slice(int axis, long start, long stop, long step) {
    return derive((t, out) -> Raw.dlx_tensor_slice(t, axis, start, stop, step, out));
  }

  /** One position of an axis, without that axis; a negative index counts from the end. */
  public Tensor select(int axis, long index) {
    return derive((t, out) -> Raw.dlx_tensor_select(t, axis, index, out));
  }

  /** The axes reversed. */
  public Tensor transpose() {
    return derive((t, out) -> Raw.dlx_tensor_permute(t, null, out));
  }

  /** The axes reordered: axis i of the view is axis axes[i]. */
  public Tensor permute(int... axes) {
    if (axes.length != shape.length) {
      throw new DlxException.InvalidArgument("dlx_tensor_permute: `axes` has " + axes.length
          + " numbers (expected " + shape.length + ")");
    }
    return derive((t, out) -> Raw.dlx_tensor_permute(t, axes, out));
  }

  /** Without these axes, which have extent 1; without all such axes if none is named. */
  public Tensor squeeze(int... axes) {
    return derive((t, out) -> Raw.dlx_tensor_squeeze(t, axes.length, axes.length == 0 ? null : axes, out));
  }

  public Tensor expandDims(int axis) {
    return derive((t, out) -> Raw.dlx_tensor_expand_dims(t, axis, out));
  }

  /** Repeated to a shape by NumPy's rules, without a copy. */
  public Tensor broadcastTo(long... shape) {
    return derive((t, out) -> Raw.dlx_tensor_broadcast_to(t, shape.length, shape, out));
  }

  /** The same bytes as another dtype. */
  public Tensor bitcast(DType dtype) {
    Memory d = Scratch.of(Raw.DLDataType.SIZE);
    dtype.write(d, 0);
    return derive((t, out) -> Raw.dlx_tensor_bitcast(t, Scratch.address(d), out));
  }

  public Tensor asReadOnly() {
    return derive((t, out) -> Raw.dlx_tensor_as_readonly(t, out));
  }

  /** Itself if its elements are compact in C order, else a compact copy. */
  public Tensor contiguous() {
    return contiguous(Order.C, CopyMode.IF_NEEDED);
  }

  public Tensor contiguous(Order order, CopyMode copy) {
    Memory how = Scratch.copyOptions(order, copy);
    return derive((t, out) -> Raw.dlx_tensor_contiguous(t, Scratch.address(how), out));
  }

  /** A compact, writable copy on the same device. */
  public Tensor copy() {
    return derive((t, out) -> Raw.dlx_tensor_clone(t, 0, out));
  }

  /** The same elements in another shape, a view if possible; one extent may be -1. */
  public Tensor reshape(CopyMode copy, long... shape) {
    Memory how = Scratch.copyOptions(Order.C, copy);
    return derive((t, out) -> Raw.dlx_tensor_reshape(t, shape.length, shape, Scratch.address(how), out));
  }

  public Tensor reshape(long... shape) {
    return reshape(CopyMode.IF_NEEDED, shape);
  }

  /** Itself if it is on the device, else a copy there. */
  public Tensor toDevice(Device device) {
    return derive((t, out) -> Raw.dlx_tensor_to_device(t, device.type(), device.id(), 0, out));
  }

  /** Copies the elements of {@code source}, broadcast to this tensor's shape, into this tensor. */
  public void copyFrom(Tensor source) {
    source.use(from -> {
      use(to -> Raw.dlx_tensor_copy_from(to, from, 0));
      return Raw.DLX_OK;
    });
  }

  /** Waits until the data is ready. On the CPU it always is. */
  public void synchronizeData() {
    use(Raw::dlx_tensor_synchronize);
  }

  /**
   * The memory of a compact tensor in host memory, in the machine's byte order: no copy. The buffer keeps
   * the memory alive, also after {@link #close}; that of a read-only tensor is read-only.
   */
  public ByteBuffer buffer() {
    return Views.buffer(this);
  }

  /**
   * As {@link #buffer}, as a {@code java.lang.foreign.MemorySegment}, of any size, where the JDK has it (22
   * or newer): {@code tensor.segment(MemorySegment.class)}.
   */
  public <T> T segment(Class<T> memorySegment) {
    return memorySegment.cast(Views.segment(this, memorySegment));
  }

  /** A new reference for {@link Raw}, which the caller releases. */
  public long retained() {
    return ask(Raw::dlx_tensor_retain);
  }

  /** A copy of the bytes of all elements in C order, from any strides and any device. */
  public byte[] toBytes() {
    try (Tensor host = toDevice(Device.CPU); Tensor compact = host.contiguous()) {
      long size = compact.nbytes();
      if (size > Integer.MAX_VALUE) throw Views.tooLarge(size);
      return size == 0 ? new byte[0] : compact.read(address -> new Pointer(address).getByteArray(0, (int) size));
    }
  }

  /** A copy of all elements in C order. */
  public float[] toFloats() {
    expect(DType.FLOAT32);
    byte[] bytes = toBytes();
    float[] values = new float[bytes.length / 4];
    ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).asFloatBuffer().get(values);
    return values;
  }

  private <T> T read(LongFunction<T> read) {
    long tensor = handle.enter();
    try {
      return read.apply(Raw.dlx_tensor_data(tensor));
    } finally {
      handle.leave();
      Reference.reachabilityFence(this);
    }
  }

  /** One element of float32. */
  public float getFloat(long... index) {
    expect(DType.FLOAT32);
    return read(data -> new Pointer(data).getFloat(offset(index)));
  }

  /** Writes one element of float32. */
  public void setFloat(float value, long... index) {
    expect(DType.FLOAT32);
    write(data -> data.setFloat(offset(index), value));
  }

  /** One element of an integer or floating-point dtype of Java, as a Number. */
  public Number get(long... index) {
    return read(data -> Extent.read(new Pointer(data), offset(index), dtype));
  }

  /** Writes one element. */
  public void set(Number value, long... index) {
    write(data -> Extent.write(data, offset(index), dtype, value));
  }

  private void write(Consumer<Pointer> write) {
    if (readOnly) throw new DlxException.ReadOnly("dlx: the tensor is read-only");
    read(data -> {
      write.accept(new Pointer(data));
      return null;
    });
  }

  private void expect(DType expected) {
    if (!dtype.equals(expected)) {
      throw new DlxException.InvalidArgument("dlx: the elements are " + dtype + ", not " + expected);
    }
  }

  /** The distance of an element from the first, in bytes. */
  private long offset(long... index) {
    if (!device.isHost()) {
      throw new DlxException.Unsupported("dlx: the CPU cannot access memory on " + device);
    }
    if (index.length != shape.length) {
      throw new DlxException.InvalidArgument(
          "dlx: the index has " + index.length + " numbers (expected " + shape.length + ")");
    }
    long offset = 0;
    for (int axis = 0; axis < shape.length; ++axis) {
      if (index[axis] < 0 || index[axis] >= shape[axis]) {
        throw new IndexOutOfBoundsException("dlx: the index is out of range (got " + Arrays.toString(index)
            + " for shape " + Arrays.toString(shape) + ")");
      }
      offset += index[axis] * strides[axis];
    }
    return offset * dtype.bits() / 8;
  }

  /** Drops the tensor at once; the last user of the memory frees it. */
  @Override
  public void close() {
    cleanable.clean();
  }

  @Override
  public String toString() {
    return "Tensor(" + dtype + ", " + Arrays.toString(shape) + ", " + device + (readOnly ? ", read-only" : "") + ")";
  }
}
