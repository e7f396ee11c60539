package dlx;

import com.sun.jna.Memory;
import java.util.Objects;

/** A data type: a DLPack code, the bits of one lane, and lanes. */
public final class DType {
  public static final DType BOOL = new DType(Raw.kDLBool, 8, 1);
  public static final DType INT8 = new DType(Raw.kDLInt, 8, 1);
  public static final DType INT16 = new DType(Raw.kDLInt, 16, 1);
  public static final DType INT32 = new DType(Raw.kDLInt, 32, 1);
  public static final DType INT64 = new DType(Raw.kDLInt, 64, 1);
  public static final DType UINT8 = new DType(Raw.kDLUInt, 8, 1);
  public static final DType FLOAT32 = new DType(Raw.kDLFloat, 32, 1);
  public static final DType FLOAT64 = new DType(Raw.kDLFloat, 64, 1);

  private final int code;
  private final int bits;
  private final int lanes;

  DType(int code, int bits, int lanes) {
    this.code = code;
    this.bits = bits;
    this.lanes = lanes;
  }

  /** Parses a name such as "float32", "bfloat16" or "uint8x4". */
  public static DType parse(String name) {
    Memory out = Scratch.of(Raw.DLDataType.SIZE);
    DlxException.check(Raw.dlx_dtype_parse(Scratch.checked(name, "dtype"), Scratch.address(out)));
    return read(out, 0);
  }

  static DType read(com.sun.jna.Pointer memory, long at) {
    return new DType(memory.getByte(at) & 0xff, memory.getByte(at + 1) & 0xff, memory.getShort(at + 2) & 0xffff);
  }

  void write(Memory memory, long at) {
    memory.setByte(at, (byte) code);
    memory.setByte(at + 1, (byte) bits);
    memory.setShort(at + 2, (short) lanes);
  }

  /** The DLPack code. */
  public int code() {
    return code;
  }

  /** Bits of one lane. */
  public int bits() {
    return bits;
  }

  public int lanes() {
    return lanes;
  }

  /** The name that {@link #parse} reads. */
  @Override
  public String toString() {
    Memory memory = Scratch.of(Raw.DLDataType.SIZE);
    write(memory, 0);
    try {
      return Scratch.name(text -> Raw.dlx_dtype_name(Scratch.address(memory), text, text.length));
    } catch (DlxException error) {
      return "code " + code + ", bits " + bits + ", lanes " + lanes;
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DType d && d.code == code && d.bits == bits && d.lanes == lanes;
  }

  @Override
  public int hashCode() {
    return Objects.hash(code, bits, lanes);
  }
}
