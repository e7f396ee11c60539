package dlx;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.util.Map;

/** Finds libdlx: by the property {@code dlx.library}, a path, or else where JNA looks. */
final class Loader {
  private Loader() {}

  static void register(Class<?> raw) {
    String name = System.getProperty("dlx.library", "dlx");
    Map<String, Object> options = Map.of(Library.OPTION_STRING_ENCODING, "UTF-8");
    Native.register(raw, NativeLibrary.getInstance(name, options));
  }
}
