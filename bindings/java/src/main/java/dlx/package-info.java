/**
 * Tensors shared between libraries and languages without copies, by DLPack: libdlx for Java. {@link
 * dlx.Tensor} is the entry.
 */
package dlx;
