package dlx;

/** A device: its type, a DLPack number, and its number among the devices of that type. */
public record Device(int type, int id) {
  /** Ordinary host memory. */
  public static final Device CPU = new Device(Raw.kDLCPU, 0);

  /** Parses a name such as "cpu" or "cuda:1". */
  public static Device parse(String name) {
    int[] type = new int[1];
    int[] id = new int[1];
    DlxException.check(Raw.dlx_device_parse(Scratch.checked(name, "device"), type, id));
    return new Device(type[0], id[0]);
  }

  /** The number of devices of this type on this machine. */
  public int count() {
    return Raw.dlx_device_count(type);
  }

  /** Why there is no device of this type; "" if there is one. */
  public String reason() {
    return Raw.dlx_backend_reason(type);
  }

  /** Waits until all work that dlx submitted to the device is done. */
  public void synchronizeDevice() {
    DlxException.check(Raw.dlx_device_synchronize(type, id));
  }

  /** Whether the CPU can access the memory. */
  public boolean isHost() {
    return type == Raw.kDLCPU
        || type == Raw.kDLCUDAHost
        || type == Raw.kDLROCMHost
        || type == Raw.kDLCUDAManaged;
  }

  /** The name that {@link #parse} reads. */
  @Override
  public String toString() {
    return Scratch.name(text -> Raw.dlx_device_name(type, id, text, text.length));
  }
}
