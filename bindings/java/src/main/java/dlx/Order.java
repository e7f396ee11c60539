package dlx;

/** The order of the elements in memory; in the order of DLX_ORDER_*. */
public enum Order {
  /** The last axis varies fastest. */
  C,
  /** The first axis varies fastest. */
  F
}
