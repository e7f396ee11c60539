using System;
using System.Runtime.InteropServices;

namespace Dlx
{
  /// <summary>A tensor: an immutable description of memory, and a share in the memory's owner.</summary>
  /// <remarks>Views share the memory; the last user frees it. Dispose drops a tensor at once, the garbage
  /// collector does it later; a disposed tensor throws ObjectDisposedException. Threads may share a tensor;
  /// reads and writes of elements are not synchronised.</remarks>
  public sealed unsafe class Tensor : IDisposable
  {
    /// <summary>An omitted start or stop of Slice.</summary>
    public const long Open = long.MinValue;

    delegate int Maker(IntPtr tensor, IntPtr* made);
    delegate int Call(IntPtr tensor);

    readonly Handle handle;
    readonly long[] shape;
    readonly long[] strides;

    internal Tensor(IntPtr owned)
    {
      handle = new Handle(owned);
      DLTensor* t = Raw.dlx_tensor_dltensor(owned);
      shape = Numbers(t->shape, t->ndim);
      strides = Numbers(t->strides, t->ndim);
      DType = new DType(t->dtype);
      Device = new Device(t->device.device_type, t->device.device_id);
      IsReadOnly = (Raw.dlx_tensor_flags(owned) & Raw.DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    }

    public DType DType { get; }
    public Device Device { get; }
    public bool IsReadOnly { get; }
    public bool IsClosed => handle.IsClosed;
    public long[] Shape => (long[])shape.Clone();
    /// <summary>Strides, in elements.</summary>
    public long[] Strides => (long[])strides.Clone();
    public long Size { get { long size = 0; Use(t => { size = Raw.dlx_tensor_size(t); return 0; }); return size; } }
    public long Nbytes { get { long size = 0; Use(t => { size = Raw.dlx_tensor_nbytes(t); return 0; }); return size; } }
    /// <summary>Address of the first element. It does not keep the memory alive.</summary>
    public IntPtr Address { get { IntPtr data = IntPtr.Zero; Use(t => { data = (IntPtr)Raw.dlx_tensor_data(t); return 0; }); return data; } }

    /// <summary>A new reference for Raw, which the caller releases.</summary>
    public IntPtr Retain() { IntPtr out_ = IntPtr.Zero; Use(t => { out_ = Raw.dlx_tensor_retain(t); return 0; }); return out_; }

    static T Given<T>(T value, string name) where T : class => value ?? throw new ArgumentNullException(name);

    static long[] Numbers(long* first, int count)
    {
      var values = new long[count];
      for (int i = 0; i < count; ++i) values[i] = first[i];
      return values;
    }

    static Tensor Make(IntPtr tensor, Maker call)
    {
      IntPtr made;
      DlxException.Check(call(tensor, &made));
      return new Tensor(made);
    }

    void Use(Call call)
    {
      bool entered = false;
      try
      {
        if (handle.IsClosed) throw new ObjectDisposedException("Tensor", "dlx: the tensor is closed");
        handle.DangerousAddRef(ref entered); // throws the same, if another thread has just closed it
        DlxException.Check(call(handle.DangerousGetHandle()));
      }
      finally
      {
        if (entered) handle.DangerousRelease();
      }
    }

    Tensor Derive(Maker call)
    {
      Tensor made = null;
      Use(t => { made = Make(t, call); return 0; });
      return made;
    }

    /// <summary>A new compact tensor, filled with zeros in host memory.</summary>
    public static Tensor Empty(DType dtype, Device device, params long[] shape)
    {
      Tensor tensor = Make(IntPtr.Zero, (none, made) =>
      {
        DLDataType value = dtype.Value;
        fixed (long* extents = Given(shape, nameof(shape)))
          return Raw.dlx_tensor_empty(shape.Length, extents, &value, device.Type, device.Id, null, made);
      });
      if (device.IsHost) new Span<byte>((void*)tensor.Address, checked((int)tensor.Nbytes)).Clear();
      return tensor;
    }

    /// <summary>A tensor on an array, which stays pinned until the last user is done.</summary>
    /// <param name="strides">in elements; null: compact</param>
    /// <param name="onRelease">called on any thread when nothing uses the memory any more</param>
    public static Tensor Wrap<T>(T[] values, long[] shape, long[] strides = null, int start = 0, Action onRelease = null)
        where T : struct => Wrap(values, DType.Of<T>(), shape, strides, start, onRelease);

    /// <summary>The same with another dtype of the same bytes.</summary>
    public static Tensor Wrap<T>(T[] values, DType dtype, long[] shape, long[] strides, int start, Action onRelease)
        where T : struct
    {
      Given(values, nameof(values));
      if (strides != null && strides.Length != Given(shape, nameof(shape)).Length)
        throw DlxException.Invalid($"dlx: `strides` has {strides.Length} numbers (expected {shape.Length})");
      int size = Marshal.SizeOf(typeof(T));
      if (!Fits(8L * size * values.Length, 8L * size * start, dtype, Given(shape, nameof(shape)), strides))
        throw DlxException.Invalid("dlx: `shape`, `strides` and `start` do not fit into the array (got shape " +
            $"({string.Join(", ", shape)}) for {values.Length} elements)");
      var owner = new Owner(values, onRelease);
      var self = GCHandle.Alloc(owner);
      try
      {
        return Make(IntPtr.Zero, (none, made) =>
        {
          fixed (long* extents = shape, steps = strides)
          {
            var description = new DLTensor
            {
              data = (byte*)owner.Address + (long)start * size,
              device = new DLDevice { device_type = Raw.kDLCPU },
              ndim = shape.Length,
              dtype = dtype.Value,
              shape = extents,
              strides = steps,
            };
            return Raw.dlx_tensor_wrap(&description, 0, Owner.Function, (void*)GCHandle.ToIntPtr(self), made);
          }
        });
      }
      catch
      {
        self.Free();
        owner.Free();
        throw;
      }
    }

    /// <summary>Whether all elements lie within the array. Negative extents are left to dlx.</summary>
    static bool Fits(long available, long start, DType dtype, long[] shape, long[] strides)
    {
      try
      {
        checked
        {
          long low = 0, high = 1, step = 1;
          for (int axis = shape.Length - 1; axis >= 0; --axis)
          {
            if (shape[axis] <= 0) return true;
            long reach = (shape[axis] - 1) * (strides == null ? step : strides[axis]);
            if (reach < 0) low += reach;
            else high += reach;
            step *= shape[axis];
          }
          long bits = (long)dtype.Bits * dtype.Lanes;
          return start >= 0 && start + low * bits >= 0 && start + high * bits <= available;
        }
      }
      catch (OverflowException)
      {
        return false;
      }
    }

    /// <summary>Imports the DLManagedTensorVersioned at an address; a failed import calls its deleter.</summary>
    public static Tensor FromDLPack(IntPtr managed)
    {
      int consumed = 0;
      var raw = (DLManagedTensorVersioned*)managed;
      try
      {
        return Make(IntPtr.Zero, (none, made) => { int did; int status = Raw.dlx_tensor_from_dlpack_versioned(raw, &did, made); consumed = did; return status; });
      }
      catch (DlxException)
      {
        if (consumed == 0 && raw != null) Delete(raw->deleter, managed);
        throw;
      }
    }

    /// <summary>The same for the DLManagedTensor of DLPack before 1.0.</summary>
    public static Tensor FromLegacyDLPack(IntPtr managed)
    {
      var raw = (DLManagedTensor*)managed;
      try
      {
        return Make(IntPtr.Zero, (none, made) => Raw.dlx_tensor_from_dlpack(raw, 0, made));
      }
      catch (DlxException)
      {
        if (raw != null) Delete(raw->deleter, managed);
        throw;
      }
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate void ManagedDeleter(IntPtr managed);

    static void Delete(IntPtr deleter, IntPtr managed)
    {
      if (deleter == IntPtr.Zero) return;
      // A function of this runtime comes back as the delegate that it was, whose type is another one.
      Delegate call = Marshal.GetDelegateForFunctionPointer(deleter, typeof(ManagedDeleter));
      if (call is ManagedDeleter direct) direct(managed);
      else call.DynamicInvoke(managed);
    }

    /// <summary>The address of a DLManagedTensorVersioned, whose last holder calls its deleter.</summary>
    public IntPtr ToDLPack()
    {
      IntPtr managed = IntPtr.Zero;
      Use(t => { DLManagedTensorVersioned* made; int status = Raw.dlx_tensor_to_dlpack_versioned(t, null, &made); managed = status == 0 ? (IntPtr)made : IntPtr.Zero; return status; });
      return managed;
    }

    /// <summary>The same for the DLManagedTensor of DLPack before 1.0.</summary>
    public IntPtr ToLegacyDLPack()
    {
      IntPtr managed = IntPtr.Zero;
      Use(t => { DLManagedTensor* made; int status = Raw.dlx_tensor_to_dlpack(t, null, &made); managed = status == 0 ? (IntPtr)made : IntPtr.Zero; return status; });
      return managed;
    }

    public bool IsContiguous(Order order = Order.C)
    {
      bool is_ = false;
      Use(t => { is_ = Raw.dlx_tensor_is_contiguous(t, (int)order) != 0; return 0; });
      return is_;
    }

    /// <summary>A part of one axis by Python's rules; Open is an omitted start or stop.</summary>
    public Tensor Slice(int axis, long start = Open, long stop = Open, long step = 1) =>
        Derive((t, made) => Raw.dlx_tensor_slice(t, axis, start, stop, step, made));

    /// <summary>One position of an axis, without that axis; a negative index counts from the end.</summary>
    public Tensor Select(int axis, long index) => Derive((t, made) => Raw.dlx_tensor_select(t, axis, index, made));

    /// <summary>The axes reversed.</summary>
    public Tensor Transpose() => Derive((t, made) => Raw.dlx_tensor_permute(t, null, made));

    /// <summary>The axes reordered: axis i of the view is axis axes[i].</summary>
    public Tensor Permute(params int[] axes)
    {
      if (Given(axes, nameof(axes)).Length != shape.Length)
        throw DlxException.Invalid($"dlx_tensor_permute: `axes` has {axes.Length} numbers (expected {shape.Length})");
      return Derive((t, made) => { fixed (int* first = axes.Length == 0 ? new int[1] : axes) return Raw.dlx_tensor_permute(t, first, made); });
    }

    /// <summary>Without these axes, which have extent 1; without all such axes if none is named.</summary>
    public Tensor Squeeze(params int[] axes) =>
        Derive((t, made) => { fixed (int* first = Given(axes, nameof(axes))) return Raw.dlx_tensor_squeeze(t, axes.Length, first, made); });

    public Tensor ExpandDims(int axis) => Derive((t, made) => Raw.dlx_tensor_expand_dims(t, axis, made));

    /// <summary>Repeated to a shape by NumPy's rules, without a copy.</summary>
    public Tensor BroadcastTo(params long[] shape) =>
        Derive((t, made) => { fixed (long* extents = Given(shape, nameof(shape))) return Raw.dlx_tensor_broadcast_to(t, shape.Length, extents, made); });

    /// <summary>The same bytes as another dtype.</summary>
    public Tensor Bitcast(DType dtype) =>
        Derive((t, made) => { DLDataType value = dtype.Value; return Raw.dlx_tensor_bitcast(t, &value, made); });

    public Tensor AsReadOnly() => Derive((t, made) => Raw.dlx_tensor_as_readonly(t, made));

    static dlx_copy_options Options(Order order, CopyMode copy) => new dlx_copy_options
    {
      struct_size = (uint)sizeof(dlx_copy_options), order = (int)order, copy = (int)copy,
    };

    /// <summary>Itself if its elements are compact in the order, else a compact copy.</summary>
    public Tensor Contiguous(Order order = Order.C, CopyMode copy = CopyMode.IfNeeded) =>
        Derive((t, made) => { dlx_copy_options how = Options(order, copy); return Raw.dlx_tensor_contiguous(t, &how, made); });

    /// <summary>A compact, writable copy on the same device.</summary>
    public Tensor Clone() => Derive((t, made) => Raw.dlx_tensor_clone(t, null, made));

    /// <summary>The same elements in another shape, a view if possible; one extent may be -1.</summary>
    public Tensor Reshape(long[] shape, CopyMode copy = CopyMode.IfNeeded) => Derive((t, made) =>
    {
      dlx_copy_options how = Options(Order.C, copy);
      fixed (long* extents = Given(shape, nameof(shape))) return Raw.dlx_tensor_reshape(t, shape.Length, extents, &how, made);
    });

    /// <summary>Itself if it is on the device, else a copy there.</summary>
    public Tensor ToDevice(Device device) =>
        Derive((t, made) => Raw.dlx_tensor_to_device(t, device.Type, device.Id, null, made));

    /// <summary>Copies the elements of another tensor, broadcast to this shape, into this tensor.</summary>
    public void CopyFrom(Tensor source) =>
        Given(source, nameof(source)).Use(from => { Use(to => Raw.dlx_tensor_copy_from(to, from, null)); return 0; });

    /// <summary>Lends the memory of a compact tensor as a span, which must not be used after the call.</summary>
    public void WithSpan<T>(SpanAction<T> action) where T : struct
    {
      if (IsReadOnly) throw new DlxException(ErrorCode.ReadOnly, "dlx: the tensor is read-only");
      WithReadOnlySpan<T>(span => action(MemoryMarshal.CreateSpan(ref MemoryMarshal.GetReference(span), span.Length)));
    }

    /// <summary>The same to read, also of a read-only tensor.</summary>
    public void WithReadOnlySpan<T>(ReadOnlySpanAction<T> action) where T : struct => Use(t =>
    {
      Accessible(DType.Of<T>());
      if (Raw.dlx_tensor_is_contiguous(t, Raw.DLX_ORDER_C) == 0)
        throw DlxException.Invalid("dlx: the elements are not compact: Contiguous() packs them");
      int status = Raw.dlx_tensor_synchronize(t);
      if (status == 0) action(new ReadOnlySpan<T>(Raw.dlx_tensor_data(t), checked((int)Raw.dlx_tensor_size(t))));
      return status;
    });

    /// <summary>A copy of all elements in C order.</summary>
    public T[] ToArray<T>() where T : struct
    {
      T[] values = null;
      using (Tensor host = ToDevice(Device.Cpu))
      using (Tensor packed = host.Contiguous())
        packed.WithReadOnlySpan<T>(span => values = span.ToArray());
      return values;
    }

    /// <summary>A copy of the bytes of all elements in C order.</summary>
    public byte[] ToBytes()
    {
      byte[] values = null;
      using (Tensor host = ToDevice(Device.Cpu))
      using (Tensor packed = host.Contiguous())
      {
        int size = checked((int)packed.Nbytes);
        packed.Use(t => { values = new Span<byte>(Raw.dlx_tensor_data(t), size).ToArray(); return 0; });
      }
      return values;
    }

    /// <summary>One element.</summary>
    public T Get<T>(params long[] index) where T : struct
    {
      T value = default;
      Use(t => { value = Marshal.PtrToStructure<T>(Element(t, index, DType.Of<T>())); return 0; });
      return value;
    }

    /// <summary>Writes one element.</summary>
    public void Set<T>(T value, params long[] index) where T : struct
    {
      if (IsReadOnly) throw new DlxException(ErrorCode.ReadOnly, "dlx: the tensor is read-only");
      Use(t => { Marshal.StructureToPtr(value, Element(t, index, DType.Of<T>()), false); return 0; });
    }

    void Accessible(DType expected)
    {
      if (!DType.Equals(expected)) throw DlxException.Invalid($"dlx: the elements are {DType}, not {expected}");
      if (!Device.IsHost) throw new DlxException(ErrorCode.Unsupported, $"dlx: the CPU cannot access memory on {Device}");
    }

    IntPtr Element(IntPtr tensor, long[] index, DType expected)
    {
      Accessible(expected);
      if (Given(index, nameof(index)).Length != shape.Length)
        throw DlxException.Invalid($"dlx: the index has {index.Length} numbers (expected {shape.Length})");
      long offset = 0;
      for (int axis = 0; axis < shape.Length; ++axis)
      {
        if (index[axis] < 0 || index[axis] >= shape[axis])
          throw new IndexOutOfRangeException($"dlx: the index is out of range (got {index[axis]} on axis {axis}, which has {shape[axis]} elements)");
        offset += index[axis] * strides[axis];
      }
      return (IntPtr)((byte*)Raw.dlx_tensor_data(tensor) + offset * expected.Bits / 8);
    }

    /// <summary>Drops the tensor at once; the last user of the memory frees it.</summary>
    public void Dispose() => handle.Dispose();

    public override string ToString() =>
        $"Tensor({DType}, ({string.Join(", ", shape)}), {Device}{(IsReadOnly ? ", read-only" : "")})";
  }

  public delegate void SpanAction<T>(Span<T> span);
  public delegate void ReadOnlySpanAction<T>(ReadOnlySpan<T> span);
}
