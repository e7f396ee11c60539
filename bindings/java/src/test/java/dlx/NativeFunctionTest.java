package dlx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Functions of C with contracts, here of examples/filter (DLX_FILTER names its library). */
class NativeFunctionTest {
  private static final String LIBRARY = System.getenv("DLX_FILTER");

  private NativeFunction blur;
  private NativeFunction brighten;

  @BeforeEach
  void load() {
    assumeTrue(LIBRARY != null, "no DLX_FILTER");
    blur = NativeFunction.load(LIBRARY, "filter_blur_packed",
        "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)");
    brighten = NativeFunction.load(LIBRARY, "filter_brighten_packed",
        "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)");
  }

  private static byte[] pixels() {
    byte[] pixels = new byte[12];
    for (int i = 0; i < 12; ++i) pixels[i] = (byte) (10 * i);
    return pixels;
  }

  private static Tensor image() {
    return Tensor.ofBytes(pixels(), DType.UINT8, 3, 4);
  }

  @Test
  void resultsAreTensors() {
    try (Tensor image = image(); Tensor blurred = blur.call(image)[0]; Tensor same = blur.call(image, 0)[0]) {
      assertArrayEquals(new byte[] {25, 30, 40, 45, 45, 50, 60, 65, 65, 70, 80, 85}, blurred.toBytes());
      assertArrayEquals(pixels(), same.toBytes());
    }
    assertEquals("NativeFunction(blur)", blur.toString());
  }

  @Test
  void argumentsAreWritten() {
    try (Tensor image = image(); Tensor column = image.slice(1, 3, Tensor.OPEN, 1);
        Tensor readOnly = image.asReadOnly()) {
      assertEquals(0, brighten.call(column).length);
      assertArrayEquals(new byte[] {0, 10, 20, 45, 40, 50, 60, 105, 80, 90, 100, (byte) 165}, image.toBytes());
      brighten.call(image, 0.0);
      assertArrayEquals(new byte[12], image.toBytes());
      assertThrows(DlxException.ReadOnly.class, () -> brighten.call(readOnly));
    }
  }

  @Test
  void whatDoesNotFitIsAnError() {
    Tensor image = image();
    Map<String, Object[]> wrong = Map.of(
        "blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))",
        new Object[] {image.reshape(CopyMode.NEVER, 12)},
        "blur: `radius` is negative (got -1)", new Object[] {image, -1L},
        "blur: `image` is missing", new Object[] {},
        "blur: it takes 2 arguments (got 3)", new Object[] {image, 1, 2},
        "blur: `radius` is not an integer", new Object[] {image, 1.5},
        "blur: `image` is not a Tensor", new Object[] {pixels()});
    wrong.forEach((words, arguments) -> assertEquals(words,
        assertThrows(DlxException.InvalidArgument.class, () -> blur.call(arguments)).getMessage()));
    image.close();
    assertThrows(IllegalStateException.class, () -> blur.call(image));
    assertThrows(DlxException.InvalidArgument.class,
        () -> NativeFunction.load(LIBRARY, "filter_blur_packed", "blur(image: uint9[h])"));
    assertThrows(DlxException.InvalidArgument.class, () -> new NativeFunction(0, "f()"));
    assertThrows(UnsatisfiedLinkError.class, () -> NativeFunction.load(LIBRARY, "no_such_symbol", "f()"));
  }
}
