package dlx;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Pointer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** What owns memory that dlx uses, by number, until its deleter runs. */
final class Owners {
  /** JNA's form of a dlx_deleter_fn. */
  interface Deleter extends Callback {
    void invoke(Pointer data, Pointer userData);
  }

  private static final ConcurrentHashMap<Long, Runnable> KEPT = new ConcurrentHashMap<>();
  private static final AtomicLong NEXT = new AtomicLong(1);
  private static final Deleter DELETER = (data, owner) -> drop(Pointer.nativeValue(owner));

  /** The address of the deleter for all owners. */
  static final long FUNCTION = Pointer.nativeValue(CallbackReference.getFunctionPointer(DELETER));

  private Owners() {}

  /** Keeps {@code release} and what it refers to; the result is the user_data of the deleter. */
  static long keep(Runnable release) {
    long number = NEXT.getAndIncrement();
    KEPT.put(number, release);
    return number;
  }

  static void forget(long number) {
    KEPT.remove(number);
  }

  /** The last user calls this, on any thread. */
  private static void drop(long number) {
    KEPT.remove(number).run();
  }
}
