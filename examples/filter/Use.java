// The filters called from Java. Run: java -cp dlx.jar:jna.jar Use.java ./libfilter.so
import dlx.DType;
import dlx.DlxException;
import dlx.NativeFunction;
import dlx.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.StringJoiner;

public class Use {
  public static void main(String[] arguments) {
    // As filter.h has them.
    NativeFunction blur = NativeFunction.load(arguments[0], "filter_blur_packed",
        "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)");
    NativeFunction brighten = NativeFunction.load(arguments[0], "filter_brighten_packed",
        "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)");

    ByteBuffer pixels = ByteBuffer.allocateDirect(12);
    for (int i = 0; i < 12; ++i) pixels.put(i, (byte) (10 * i));
    Runnable onRelease = () -> System.out.println("released");
    try (Tensor image = Tensor.wrap(pixels, DType.UINT8, new long[] {3, 4}, null, onRelease); // no copy
        Tensor column = image.slice(1, 3, Tensor.OPEN, 1);
        Tensor flat = image.reshape(12);
        Tensor blurred = blur.call(image)[0]) {
      System.out.println(words(blurred));
      brighten.call(column); // the last column, in place
      System.out.println(words(image));

      for (Object[] wrong : List.of(new Object[] {flat}, new Object[] {image, -1})) {
        try {
          blur.call(wrong);
        } catch (DlxException error) {
          System.out.println(error.getMessage());
        }
      }
      long managed = blurred.toDLPack(); // for any library that takes DLPack, and keeps the memory
      try (Tensor taken = Tensor.fromDLPack(managed); Tensor row = taken.select(0, 0)) {
        System.out.println("(" + taken.shape()[0] + ", " + taken.shape()[1] + "): " + words(row));
      }
    }
  }

  private static String words(Tensor tensor) {
    StringJoiner words = new StringJoiner(" ");
    for (byte value : tensor.toBytes()) words.add(Integer.toString(value & 0xff));
    return words.toString();
  }
}
