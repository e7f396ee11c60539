package dlx;

/** A failed call, with dlx's words. Its subclasses are the kinds of failures. */
public class DlxException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int status;

  DlxException(int status, String message) {
    super(message);
    this.status = status;
  }

  /** The status, one of DLX_ERROR_* of dlx.h. */
  public int status() {
    return status;
  }

  /** The name of the status, such as "DLX_ERROR_READ_ONLY". */
  public String code() {
    return Raw.dlx_status_name(status);
  }

  /** A mistake of the caller; the message names the argument. */
  public static final class InvalidArgument extends DlxException {
    private static final long serialVersionUID = 1;

    InvalidArgument(String message) {
      super(Raw.DLX_ERROR_INVALID_ARGUMENT, message);
    }
  }

  /** An allocator returned no memory. */
  public static final class OutOfMemory extends DlxException {
    private static final long serialVersionUID = 1;

    OutOfMemory(String message) {
      super(Raw.DLX_ERROR_OUT_OF_MEMORY, message);
    }
  }

  /** Valid, but dlx or DLPack cannot do it. */
  public static final class Unsupported extends DlxException {
    private static final long serialVersionUID = 1;

    Unsupported(String message) {
      super(Raw.DLX_ERROR_UNSUPPORTED, message);
    }
  }

  /** No driver or no such device on this machine. */
  public static final class Unavailable extends DlxException {
    private static final long serialVersionUID = 1;

    Unavailable(String message) {
      super(Raw.DLX_ERROR_UNAVAILABLE, message);
    }
  }

  /** A driver call failed. */
  public static final class Driver extends DlxException {
    private static final long serialVersionUID = 1;

    Driver(String message) {
      super(Raw.DLX_ERROR_DRIVER, message);
    }
  }

  /** A write to read-only data, or its export as writable. */
  public static final class ReadOnly extends DlxException {
    private static final long serialVersionUID = 1;

    ReadOnly(String message) {
      super(Raw.DLX_ERROR_READ_ONLY, message);
    }
  }

  /** A copy is needed, and the caller forbids it. */
  public static final class CopyRefused extends DlxException {
    private static final long serialVersionUID = 1;

    CopyRefused(String message) {
      super(Raw.DLX_ERROR_COPY_REFUSED, message);
    }
  }

  /** The data is on another device. */
  public static final class DeviceRefused extends DlxException {
    private static final long serialVersionUID = 1;

    DeviceRefused(String message) {
      super(Raw.DLX_ERROR_DEVICE_REFUSED, message);
    }
  }

  /** Throws the exception of a failed call on this thread. */
  static void check(int status) {
    if (status != Raw.DLX_OK) throw of(status, Raw.dlx_last_error());
  }

  private static DlxException of(int status, String message) {
    switch (status) {
      case Raw.DLX_ERROR_INVALID_ARGUMENT:
        return new InvalidArgument(message);
      case Raw.DLX_ERROR_OUT_OF_MEMORY:
        return new OutOfMemory(message);
      case Raw.DLX_ERROR_UNSUPPORTED:
        return new Unsupported(message);
      case Raw.DLX_ERROR_UNAVAILABLE:
        return new Unavailable(message);
      case Raw.DLX_ERROR_DRIVER:
        return new Driver(message);
      case Raw.DLX_ERROR_READ_ONLY:
        return new ReadOnly(message);
      case Raw.DLX_ERROR_COPY_REFUSED:
        return new CopyRefused(message);
      case Raw.DLX_ERROR_DEVICE_REFUSED:
        return new DeviceRefused(message);
      default:
        return new DlxException(status, message);
    }
  }
}
