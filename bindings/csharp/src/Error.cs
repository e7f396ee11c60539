using System;
using System.Runtime.InteropServices;

namespace Dlx
{
  /// <summary>What kind of failure a DlxException is; dlx.h describes the kinds.</summary>
  public enum ErrorCode
  {
    InvalidArgument = Raw.DLX_ERROR_INVALID_ARGUMENT,
    OutOfMemory = Raw.DLX_ERROR_OUT_OF_MEMORY,
    Unsupported = Raw.DLX_ERROR_UNSUPPORTED,
    Unavailable = Raw.DLX_ERROR_UNAVAILABLE,
    Driver = Raw.DLX_ERROR_DRIVER,
    ReadOnly = Raw.DLX_ERROR_READ_ONLY,
    CopyRefused = Raw.DLX_ERROR_COPY_REFUSED,
    DeviceRefused = Raw.DLX_ERROR_DEVICE_REFUSED,
    Internal = Raw.DLX_ERROR_INTERNAL,
  }

  /// <summary>A failed call, with dlx's words as its message.</summary>
  public sealed class DlxException : Exception
  {
    public ErrorCode Code { get; }

    internal DlxException(ErrorCode code, string message) : base(message) { Code = code; }

    internal static DlxException Invalid(string message) => new DlxException(ErrorCode.InvalidArgument, message);

    /// <summary>Throws if a call on this thread failed.</summary>
    internal static unsafe void Check(int status)
    {
      if (status != Raw.DLX_OK) throw new DlxException((ErrorCode)status, Text.Read(Raw.dlx_last_error()));
    }
  }

  /// <summary>Text in UTF-8.</summary>
  static unsafe class Text
  {
    internal delegate int Writer(byte* text, UIntPtr capacity);

    internal static string Read(byte* text)
    {
      int length = 0;
      while (text[length] != 0) ++length;
      return System.Text.Encoding.UTF8.GetString(text, length);
    }

    /// <summary>The name that a call writes into a buffer.</summary>
    internal static string Written(Writer call)
    {
      byte* text = stackalloc byte[Raw.DLX_NAME_SIZE];
      DlxException.Check(call(text, (UIntPtr)Raw.DLX_NAME_SIZE));
      return Read(text);
    }

    /// <summary>A name with its final zero.</summary>
    internal static byte[] Bytes(string name)
    {
      if (name == null) throw new ArgumentNullException(nameof(name));
      if (name.IndexOf('\0') >= 0) throw new ArgumentException("dlx: the name has a zero character", nameof(name));
      return System.Text.Encoding.UTF8.GetBytes(name + "\0");
    }
  }
}
