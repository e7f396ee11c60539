package dlx;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Another library: it makes managed tensors. */
final class Foreign {
  interface Deleter extends Callback {
    void invoke(Pointer managed);
  }

  static final AtomicInteger DELETED = new AtomicInteger();
  private static final Map<Long, Memory> KEPT = new ConcurrentHashMap<>();
  private static final Deleter DELETER = managed -> {
    KEPT.remove(Pointer.nativeValue(managed));
    DELETED.incrementAndGet();
  };

  private Foreign() {}

  /** The address of a DLManagedTensorVersioned of float32 (2, 3), with one field changed. */
  static long make(String field, long... values) {
    Memory m = new Memory(Raw.DLManagedTensorVersioned.SIZE + 8 * 4 + 4 * 6);
    m.clear();
    int t = Raw.DLManagedTensorVersioned.dl_tensor;
    int shape = Raw.DLManagedTensorVersioned.SIZE;
    m.setInt(0, 1);
    m.setPointer(Raw.DLManagedTensorVersioned.deleter, CallbackReference.getFunctionPointer(DELETER));
    m.setPointer(t + Raw.DLTensor.data, m.share(shape + 32));
    m.setInt(t + Raw.DLTensor.device, 1);
    m.setInt(t + Raw.DLTensor.ndim, 2);
    DType.FLOAT32.write(m, t + Raw.DLTensor.dtype);
    m.setPointer(t + Raw.DLTensor.shape, m.share(shape));
    m.setPointer(t + Raw.DLTensor.strides, m.share(shape + 16));
    m.write(shape, new long[] {2, 3, 3, 1}, 0, 4);
    m.write(shape + 32, new float[] {0, 1, 2, 3, 4, 5}, 0, 6);
    switch (field) {
      case "major" -> m.setInt(0, (int) values[0]);
      case "flags" -> m.setLong(Raw.DLManagedTensorVersioned.flags, values[0]);
      case "ndim" -> m.setInt(t + Raw.DLTensor.ndim, (int) values[0]);
      case "shape" -> m.write(shape, values, 0, 2);
      case "strides" -> m.write(shape + 16, values, 0, 2);
      case "data" -> m.setPointer(t, null);
      case "code" -> m.setByte(t + Raw.DLTensor.dtype, (byte) values[0]);
      case "bits" -> m.setByte(t + Raw.DLTensor.dtype + 1, (byte) values[0]);
      case "lanes" -> m.setShort(t + Raw.DLTensor.dtype + 2, (short) values[0]);
      case "device_type" -> m.setInt(t + Raw.DLTensor.device, (int) values[0]);
      default -> { }
    }
    KEPT.put(Pointer.nativeValue(m), m);
    return Pointer.nativeValue(m);
  }
}
