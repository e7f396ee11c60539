using System;

namespace Dlx
{
  /// <summary>A data type: a DLPack code, the bits of one lane, and lanes.</summary>
  public readonly struct DType : IEquatable<DType>
  {
    internal readonly DLDataType Value;

    internal DType(DLDataType value) { Value = value; }

    internal DType(int code, int bits)
    {
      Value = new DLDataType { code = (byte)code, bits = (byte)bits, lanes = 1 };
    }

    public int Code => Value.code;
    public int Bits => Value.bits;
    public int Lanes => Value.lanes;

    /// <summary>Parses a name such as "float32", "bfloat16" or "uint8x4".</summary>
    public static unsafe DType Parse(string name)
    {
      DLDataType value;
      fixed (byte* text = Text.Bytes(name)) DlxException.Check(Raw.dlx_dtype_parse(text, &value));
      return new DType(value);
    }

    /// <summary>The dtype of a type of C#.</summary>
    public static DType Of<T>() where T : struct
    {
      if (typeof(T) == typeof(float)) return new DType(Raw.kDLFloat, 32);
      if (typeof(T) == typeof(double)) return new DType(Raw.kDLFloat, 64);
      if (typeof(T) == typeof(sbyte)) return new DType(Raw.kDLInt, 8);
      if (typeof(T) == typeof(short)) return new DType(Raw.kDLInt, 16);
      if (typeof(T) == typeof(int)) return new DType(Raw.kDLInt, 32);
      if (typeof(T) == typeof(long)) return new DType(Raw.kDLInt, 64);
      if (typeof(T) == typeof(byte)) return new DType(Raw.kDLUInt, 8);
      if (typeof(T) == typeof(ushort)) return new DType(Raw.kDLUInt, 16);
      if (typeof(T) == typeof(uint)) return new DType(Raw.kDLUInt, 32);
      if (typeof(T) == typeof(ulong)) return new DType(Raw.kDLUInt, 64);
      throw DlxException.Invalid($"dlx: {typeof(T)} has no dtype");
    }

    public override unsafe string ToString()
    {
      DLDataType value = Value;
      return Text.Written((text, size) => { DLDataType copy = value; return Raw.dlx_dtype_name(&copy, text, size); });
    }

    public bool Equals(DType other) => Code == other.Code && Bits == other.Bits && Lanes == other.Lanes;
    public override bool Equals(object other) => other is DType dtype && Equals(dtype);
    public override int GetHashCode() => Code << 24 ^ Bits << 16 ^ Lanes;
  }

  /// <summary>A device: its type, a DLPack number, and its number among the devices of that type.</summary>
  public readonly struct Device : IEquatable<Device>
  {
    /// <summary>Ordinary host memory.</summary>
    public static readonly Device Cpu = new Device(Raw.kDLCPU, 0);

    public Device(int type, int id) { Type = type; Id = id; }

    public int Type { get; }
    public int Id { get; }

    /// <summary>Parses a name such as "cpu" or "cuda:1".</summary>
    public static unsafe Device Parse(string name)
    {
      int type, id;
      fixed (byte* text = Text.Bytes(name)) DlxException.Check(Raw.dlx_device_parse(text, &type, &id));
      return new Device(type, id);
    }

    /// <summary>The number of devices of this type on this machine.</summary>
    public int Count => Raw.dlx_device_count(Type);

    /// <summary>Why there is no device of this type; "" if there is one.</summary>
    public unsafe string Reason => Text.Read(Raw.dlx_backend_reason(Type));

    internal bool IsHost =>
        Type == Raw.kDLCPU || Type == Raw.kDLCUDAHost || Type == Raw.kDLROCMHost || Type == Raw.kDLCUDAManaged;

    public override unsafe string ToString()
    {
      Device self = this;
      return Text.Written((text, size) => Raw.dlx_device_name(self.Type, self.Id, text, size));
    }

    public bool Equals(Device other) => Type == other.Type && Id == other.Id;
    public override bool Equals(object other) => other is Device device && Equals(device);
    public override int GetHashCode() => Type << 16 ^ Id;
  }

  /// <summary>Whether a call may copy.</summary>
  public enum CopyMode { IfNeeded = Raw.DLX_COPY_IF_NEEDED, Always = Raw.DLX_COPY_ALWAYS, Never = Raw.DLX_COPY_NEVER }

  /// <summary>The order of the elements in memory.</summary>
  public enum Order { C = Raw.DLX_ORDER_C, F = Raw.DLX_ORDER_F }
}
