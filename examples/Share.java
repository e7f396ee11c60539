// dlx from Java, through JNA: share native memory by DLPack. The last user frees it.
// Run: java -cp jna.jar Share.java [LIBDLX]
import com.sun.jna.*;
import com.sun.jna.ptr.PointerByReference;
import java.util.StringJoiner;

public class Share {
  @Structure.FieldOrder({"type", "id"})
  public static class Device extends Structure {
    public int type, id;
  }

  @Structure.FieldOrder({"code", "bits", "lanes"})
  public static class DataType extends Structure {
    public byte code, bits;
    public short lanes;
  }

  @Structure.FieldOrder({"data", "device", "ndim", "dtype", "shape", "strides", "byteOffset"})
  public static class DLTensor extends Structure {
    public Pointer data;
    public Device device;
    public int ndim;
    public DataType dtype;
    public Pointer shape, strides;
    public long byteOffset;
  }

  @Structure.FieldOrder({"major", "minor", "managerCtx", "deleter", "flags", "tensor"})
  public static class Managed extends Structure {
    public int major, minor;
    public Pointer managerCtx, deleter;
    public long flags;
    public DLTensor tensor;

    public Managed(Pointer pointer) {
      super(pointer);
      read();
    }
  }

  /** The last user of the memory calls this, on any thread. */
  public interface Deleter extends Callback {
    void invoke(Pointer data, Pointer userData);
  }

  public interface Dlx extends Library {
    String dlx_last_error();
    int dlx_tensor_wrap(DLTensor description, long flags, Deleter deleter, Pointer userData,
        PointerByReference out);
    int dlx_tensor_select(Pointer tensor, int axis, long index, PointerByReference out);
    int dlx_tensor_permute(Pointer tensor, int[] axes, PointerByReference out);
    int dlx_tensor_to_dlpack_versioned(Pointer tensor, Pointer options, PointerByReference out);
    void dlx_tensor_release(Pointer tensor);
  }

  static Dlx dlx;

  static void check(int status) {
    if (status != 0) throw new RuntimeException(dlx.dlx_last_error());
  }

  public static void main(String[] arguments) {
    dlx = Native.load(arguments.length > 0 ? arguments[0] : "dlx", Dlx.class);
    PointerByReference out = new PointerByReference();

    // The callback keeps the memory alive. This variable keeps the callback alive until the last
    // user is done.
    Memory values = new Memory(6 * 4);
    Deleter deleter = (data, userData) -> {
      values.close();
      System.out.println("released");
    };
    for (int i = 0; i < 6; ++i) values.setFloat(4 * i, i);
    Memory shape = new Memory(16);
    shape.write(0, new long[] {2, 3}, 0, 2);
    DLTensor description = new DLTensor();
    description.data = values;
    description.device.type = 1;
    description.ndim = 2;
    description.dtype.code = 2;
    description.dtype.bits = 32;
    description.dtype.lanes = 1;
    description.shape = shape;
    check(dlx.dlx_tensor_wrap(description, 0, deleter, null, out));
    Pointer matrix = out.getValue();

    try {
      check(dlx.dlx_tensor_select(matrix, 0, 9, out));
    } catch (RuntimeException error) {
      System.out.println(error.getMessage());
    }
    check(dlx.dlx_tensor_permute(matrix, null, out)); // a view
    Pointer transposed = out.getValue();
    dlx.dlx_tensor_release(matrix); // the view keeps the memory
    check(dlx.dlx_tensor_to_dlpack_versioned(transposed, null, out));
    dlx.dlx_tensor_release(transposed);

    Managed managed = new Managed(out.getValue()); // what a DLPack consumer gets
    DLTensor t = managed.tensor;
    long[] extents = t.shape.getLongArray(0, t.ndim), strides = t.strides.getLongArray(0, t.ndim);
    StringJoiner items = new StringJoiner(" ");
    for (long i = 0; i < extents[0]; ++i) {
      for (long j = 0; j < extents[1]; ++j) {
        items.add("" + (int) t.data.getFloat(4 * (i * strides[0] + j * strides[1])));
      }
    }
    System.out.println("(" + extents[0] + ", " + extents[1] + "): " + items);
    Function.getFunction(managed.deleter).invoke(new Object[] {managed.getPointer()});
  }
}
