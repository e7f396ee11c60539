package dlx;

import com.sun.jna.Pointer;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/** The memory of tensors as objects of the JDK, which keep it alive. */
final class Views {
  private Views() {}

  static ByteBuffer buffer(Tensor tensor) {
    long size = size(tensor);
    if (size > Integer.MAX_VALUE) throw tooLarge(size);
    if (size == 0) return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());
    long retained = tensor.retained();
    ByteBuffer whole = new Pointer(Raw.dlx_tensor_data(retained)).getByteBuffer(0, size);
    // Slices and views of a buffer refer to it.
    Tensor.CLEANER.register(whole, () -> Raw.dlx_tensor_release(retained));
    return (tensor.isReadOnly() ? whole.asReadOnlyBuffer() : whole.duplicate()).order(ByteOrder.nativeOrder());
  }

  /** By reflection, because the package also compiles for JDKs without java.lang.foreign. */
  static Object segment(Tensor tensor, Class<?> type) {
    long size = size(tensor);
    long retained = tensor.retained();
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      Class<?> arenas = Class.forName("java.lang.foreign.Arena");
      Object arena = lookup.findStatic(arenas, "ofAuto", MethodType.methodType(arenas)).invoke();
      Object segment = lookup.findStatic(type, "ofAddress", MethodType.methodType(type, long.class))
          .invoke(Raw.dlx_tensor_data(retained));
      Consumer<Object> release = memory -> Raw.dlx_tensor_release(retained);
      segment = lookup.findVirtual(type, "reinterpret", MethodType.methodType(type, long.class, arenas, Consumer.class))
          .invoke(segment, size, arena, release);
      if (!tensor.isReadOnly()) return segment;
      return lookup.findVirtual(type, "asReadOnly", MethodType.methodType(type)).invoke(segment);
    } catch (Throwable error) {
      Raw.dlx_tensor_release(retained);
      throw new UnsupportedOperationException("dlx: this JDK has no java.lang.foreign.MemorySegment", error);
    }
  }

  /** The size in bytes of memory that a view can show. */
  private static long size(Tensor tensor) {
    if (!tensor.device().isHost()) {
      throw new DlxException.Unsupported("dlx: the CPU cannot access memory on " + tensor.device());
    }
    if (!tensor.isContiguous(Order.C)) {
      throw new DlxException.InvalidArgument("dlx: the elements are not compact: contiguous() packs them");
    }
    tensor.synchronizeData();
    return tensor.nbytes();
  }

  static DlxException tooLarge(long size) {
    return new DlxException.Unsupported("dlx: Java's arrays and buffers end at 2 GiB (got " + size + " bytes): segment() has no limit");
  }
}
