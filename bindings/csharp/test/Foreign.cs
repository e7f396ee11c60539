using System;
using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Threading;

/// <summary>Another library: it makes managed tensors.</summary>
static class Foreign
{
  delegate void Deleter(IntPtr managed);

  static readonly ConcurrentDictionary<IntPtr, bool> Kept = new ConcurrentDictionary<IntPtr, bool>();
  static readonly Deleter Delete = managed =>
  {
    if (Kept.TryRemove(managed, out _)) Marshal.FreeHGlobal(managed);
    else Interlocked.Increment(ref DeletedTwice);
  };

  static IntPtr last;
  internal static int DeletedTwice;
  /// <summary>Whether the last one is deleted. (The collector may delete others at any time.)</summary>
  internal static bool IsLastDeleted => !Kept.ContainsKey(last);

  /// <summary>The address of a DLManagedTensorVersioned of float32 (2, 3), with one field changed.</summary>
  internal static IntPtr Make(string field, long[] values)
  {
    IntPtr m = Marshal.AllocHGlobal(80 + 32 + 24);
    Kept[m] = true;
    last = m;
    long shape = m.ToInt64() + 80;
    Func<string, long, long> Or = (name, usual) => field == name ? values[0] : usual;
    Marshal.WriteInt64(m, 0, Or("major", 1));
    Marshal.WriteInt64(m, 8, 0);
    Marshal.WriteIntPtr(m, 16, Marshal.GetFunctionPointerForDelegate(Delete));
    Marshal.WriteInt64(m, 24, Or("flags", 0));
    Marshal.WriteInt64(m, 32, field == "data" ? 0 : shape + 32);
    Marshal.WriteInt32(m, 40, (int)Or("device_type", 1));
    Marshal.WriteInt32(m, 44, 0);
    Marshal.WriteInt32(m, 48, (int)Or("ndim", 2));
    Marshal.WriteByte(m, 52, (byte)Or("code", 2));
    Marshal.WriteByte(m, 53, (byte)Or("bits", 32));
    Marshal.WriteInt16(m, 54, (short)Or("lanes", 1));
    Marshal.WriteInt64(m, 56, shape);
    Marshal.WriteInt64(m, 64, shape + 16);
    Marshal.WriteInt64(m, 72, 0);
    Marshal.Copy(field == "shape" ? values : new long[] {2, 3}, 0, (IntPtr)shape, 2);
    Marshal.Copy(field == "strides" ? values : new long[] {3, 1}, 0, (IntPtr)(shape + 16), 2);
    Marshal.Copy(new float[] {0, 1, 2, 3, 4, 5}, 0, (IntPtr)(shape + 32), 6);
    return m;
  }
}
