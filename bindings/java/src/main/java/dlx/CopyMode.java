package dlx;

/** Whether a call may copy; in the order of DLX_COPY_*. */
public enum CopyMode {
  IF_NEEDED,
  ALWAYS,
  /** A needed copy is {@link DlxException.CopyRefused}. */
  NEVER
}
