using System;
using System.Runtime.InteropServices;

namespace Dlx
{
  /// <summary>A reference to a dlx_tensor. A close during a call waits for the call.</summary>
  sealed class Handle : SafeHandle
  {
    internal Handle(IntPtr tensor) : base(IntPtr.Zero, true) { SetHandle(tensor); }

    public override bool IsInvalid => handle == IntPtr.Zero;

    protected override bool ReleaseHandle()
    {
      Raw.dlx_tensor_release(handle);
      return true;
    }
  }

  /// <summary>What owns memory that dlx uses, until its deleter runs.</summary>
  sealed class Owner
  {
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate void Deleter(IntPtr data, IntPtr owner);

    static readonly Deleter Drop = Run;
    internal static readonly IntPtr Function = Marshal.GetFunctionPointerForDelegate(Drop);

    readonly GCHandle pinned;
    readonly Action onRelease;

    internal Owner(Array values, Action onRelease)
    {
      pinned = GCHandle.Alloc(values, GCHandleType.Pinned);
      this.onRelease = onRelease;
    }

    internal IntPtr Address => pinned.AddrOfPinnedObject();
    internal void Free() => pinned.Free();

    /// <summary>The last user calls this, on any thread.</summary>
    static void Run(IntPtr data, IntPtr owner)
    {
      GCHandle self = GCHandle.FromIntPtr(owner);
      Owner kept = (Owner)self.Target;
      self.Free();
      kept.Free();
      kept.onRelease?.Invoke();
    }
  }
}
