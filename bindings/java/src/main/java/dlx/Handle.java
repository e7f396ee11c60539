package dlx;

import java.util.concurrent.atomic.AtomicInteger;

/** A reference to a dlx_tensor, released once: when it is closed and no call uses it any more. */
final class Handle implements Runnable {
  private static final int CLOSED = 1 << 30;

  private final long address;
  private final AtomicInteger uses = new AtomicInteger();

  Handle(long address) {
    this.address = address;
  }

  /** The address, valid until {@link #leave}. */
  long enter() {
    if ((uses.getAndIncrement() & CLOSED) != 0) {
      leave();
      throw new IllegalStateException("dlx: the tensor is closed");
    }
    return address;
  }

  void leave() {
    if (uses.decrementAndGet() == CLOSED) release();
  }

  boolean isClosed() {
    return (uses.get() & CLOSED) != 0;
  }

  /** Closes; only the first call does something. */
  @Override
  public void run() {
    int before = uses.getAndUpdate(value -> value | CLOSED);
    if (before == 0) release();
  }

  /** A call that fails with "closed" can also see the count at CLOSED: only one may release. */
  private void release() {
    if (uses.compareAndSet(CLOSED, CLOSED | 1 << 29)) Raw.dlx_tensor_release(address);
  }
}
