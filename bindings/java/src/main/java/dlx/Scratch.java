package dlx;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.function.ToIntFunction;

/** A little native memory for each thread: for structs that a call borrows, and for names. */
final class Scratch {
  private static final ThreadLocal<Memory> MEMORY = ThreadLocal.withInitial(() -> new Memory(256));

  private Scratch() {}

  /** Cleared memory of at least {@code size} bytes, valid until this thread asks again. */
  static Memory of(long size) {
    Memory memory = size <= 256 ? MEMORY.get() : new Memory(size);
    memory.clear();
    return memory;
  }

  static long address(Pointer pointer) {
    return Pointer.nativeValue(pointer);
  }

  static Memory copyOptions(Order order, CopyMode copy) {
    Memory how = of(Raw.dlx_copy_options.SIZE);
    how.setInt(Raw.dlx_copy_options.struct_size, Raw.dlx_copy_options.SIZE);
    how.setInt(Raw.dlx_copy_options.copy, copy.ordinal());
    how.setInt(Raw.dlx_copy_options.order, order.ordinal());
    return how;
  }

  /** The text that a call writes into a buffer of DLX_NAME_SIZE bytes. */
  static String name(ToIntFunction<byte[]> call) {
    byte[] text = new byte[Raw.DLX_NAME_SIZE];
    DlxException.check(call.applyAsInt(text));
    int end = 0;
    while (text[end] != 0) ++end;
    return new String(text, 0, end, StandardCharsets.UTF_8);
  }

  /** A name for C, which cannot have zero characters. */
  static String checked(String name, String what) {
    if (name == null || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("dlx: the " + what + " is null or has a zero character");
    }
    return name;
  }
}
