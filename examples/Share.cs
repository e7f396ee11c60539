// dlx from C#, through P/Invoke: share a pinned float[] by DLPack. The last user unpins it.
// Build: mcs -unsafe Share.cs, or in a .NET project with AllowUnsafeBlocks.
using System;
using System.Runtime.InteropServices;

static unsafe class Dlx {
  const string Library = "libdlx.so.1";

  [StructLayout(LayoutKind.Sequential)]
  public struct DLDataType {
    public byte Code, Bits;
    public ushort Lanes;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct DLTensor {
    public void* Data;
    public int DeviceType, DeviceId, Ndim;
    public DLDataType DType;
    public long* Shape;
    public long* Strides;
    public ulong ByteOffset;
  }

  [StructLayout(LayoutKind.Sequential)]
  public struct Managed {
    public uint Major, Minor;
    public void* ManagerCtx;
    public IntPtr Deleter;
    public ulong Flags;
    public DLTensor Tensor;
  }

  [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
  public delegate void Deleter(IntPtr data, IntPtr userData);

  [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
  public delegate void ManagedDeleter(Managed* self);

  [DllImport(Library)]
  static extern IntPtr dlx_last_error();
  [DllImport(Library)]
  public static extern int dlx_tensor_wrap(
      ref DLTensor description, ulong flags, Deleter deleter, IntPtr userData, out IntPtr tensor);
  [DllImport(Library)]
  public static extern int dlx_tensor_select(
      IntPtr tensor, int axis, long index, out IntPtr view);
  [DllImport(Library)]
  public static extern int dlx_tensor_permute(IntPtr tensor, int[] axes, out IntPtr view);
  [DllImport(Library)]
  public static extern int dlx_tensor_to_dlpack_versioned(
      IntPtr tensor, IntPtr options, out Managed* managed);
  [DllImport(Library)]
  public static extern void dlx_tensor_release(IntPtr tensor);

  public static void Check(int status) {
    if (status != 0) throw new Exception(Marshal.PtrToStringAnsi(dlx_last_error()));
  }
}

static unsafe class Share {
  // The last user of the memory calls this, on any thread. The field keeps the delegate from the
  // garbage collector.
  static readonly Dlx.Deleter Unpin = (data, userData) => {
    GCHandle.FromIntPtr(userData).Free();
    Console.WriteLine("released");
  };

  // Pin the array until the last user is done.
  static IntPtr Wrap(float[] values, long rows, long columns) {
    GCHandle pin = GCHandle.Alloc(values, GCHandleType.Pinned);
    long* shape = stackalloc long[2];
    shape[0] = rows;
    shape[1] = columns;
    var description = new Dlx.DLTensor {
      Data = (void*)pin.AddrOfPinnedObject(), DeviceType = 1, Ndim = 2,
      DType = new Dlx.DLDataType {Code = 2, Bits = 32, Lanes = 1}, Shape = shape,
    };
    IntPtr tensor;
    Dlx.Check(Dlx.dlx_tensor_wrap(ref description, 0, Unpin, GCHandle.ToIntPtr(pin), out tensor));
    return tensor;
  }

  static void Main() {
    IntPtr matrix = Wrap(new float[] {0, 1, 2, 3, 4, 5}, 2, 3), none, transposed;
    try {
      Dlx.Check(Dlx.dlx_tensor_select(matrix, 0, 9, out none));
    } catch (Exception error) {
      Console.WriteLine(error.Message);
    }
    Dlx.Check(Dlx.dlx_tensor_permute(matrix, null, out transposed));  // a view
    Dlx.dlx_tensor_release(matrix);                                   // the view keeps the memory
    Dlx.Managed* managed;
    Dlx.Check(Dlx.dlx_tensor_to_dlpack_versioned(transposed, IntPtr.Zero, out managed));
    Dlx.dlx_tensor_release(transposed);

    Dlx.DLTensor t = managed->Tensor;  // what a DLPack consumer gets
    Console.Write("({0}, {1}):", t.Shape[0], t.Shape[1]);
    for (long i = 0; i < t.Shape[0]; ++i) {
      for (long j = 0; j < t.Shape[1]; ++j) {
        Console.Write(" {0}", ((float*)t.Data)[i * t.Strides[0] + j * t.Strides[1]]);
      }
    }
    Console.WriteLine();
    Marshal.GetDelegateForFunctionPointer<Dlx.ManagedDeleter>(managed->Deleter)(managed);
  }
}
