package dlx;

import com.sun.jna.Pointer;
import java.nio.ByteBuffer;

/** Where elements lie, and how to read one. */
final class Extent {
  private Extent() {}

  /** Whether all elements lie between the buffer's bounds. Negative extents are left to dlx. */
  static boolean fits(ByteBuffer buffer, DType dtype, long[] shape, long[] strides) {
    try {
      long low = 0;
      long high = 1;
      long step = 1;
      for (int axis = shape.length - 1; axis >= 0; --axis) {
        if (shape[axis] <= 0) return true;
        long reach = Math.multiplyExact(shape[axis] - 1, strides == null ? step : strides[axis]);
        if (reach < 0) low = Math.addExact(low, reach);
        else high = Math.addExact(high, reach);
        step = Math.multiplyExact(step, shape[axis]);
      }
      long bits = (long) dtype.bits() * dtype.lanes();
      return Math.multiplyExact(low, bits) >= -8L * buffer.position()
          && Math.multiplyExact(high, bits) <= 8L * buffer.remaining();
    } catch (ArithmeticException overflow) {
      return false;
    }
  }

  static Number read(Pointer data, long at, DType dtype) {
    boolean isFloat = check(dtype);
    switch (dtype.bits()) {
      case 8:
        return dtype.code() == Raw.kDLInt ? data.getByte(at) : (Number) (data.getByte(at) & 0xff);
      case 16:
        return dtype.code() == Raw.kDLInt ? data.getShort(at) : (Number) (data.getShort(at) & 0xffff);
      case 32:
        if (isFloat) return data.getFloat(at);
        return dtype.code() == Raw.kDLInt ? data.getInt(at) : (Number) (data.getInt(at) & 0xffffffffL);
      default:
        return isFloat ? data.getDouble(at) : (Number) data.getLong(at);
    }
  }

  static void write(Pointer data, long at, DType dtype, Number value) {
    boolean isFloat = check(dtype);
    switch (dtype.bits()) {
      case 8 -> data.setByte(at, value.byteValue());
      case 16 -> data.setShort(at, value.shortValue());
      case 32 -> {
        if (isFloat) data.setFloat(at, value.floatValue());
        else data.setInt(at, value.intValue());
      }
      default -> {
        if (isFloat) data.setDouble(at, value.doubleValue());
        else data.setLong(at, value.longValue());
      }
    }
  }

  /** Whether the elements are floats; throws if Java has no type for them. */
  private static boolean check(DType dtype) {
    int bits = dtype.bits();
    boolean isFloat = dtype.code() == Raw.kDLFloat && (bits == 32 || bits == 64);
    boolean isInteger = dtype.code() == Raw.kDLInt || dtype.code() == Raw.kDLUInt || dtype.code() == Raw.kDLBool;
    if (dtype.lanes() == 1 && (isFloat || isInteger && (bits == 8 || bits == 16 || bits == 32 || bits == 64))) {
      return isFloat;
    }
    throw new DlxException.InvalidArgument("dlx: Java has no numbers of " + dtype + ": bitcast() helps");
  }
}
