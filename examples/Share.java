// dlx from Java: share a direct buffer by DLPack. It stays alive until the last user is done.
// Run: java -cp dlx.jar:jna.jar Share.java
import dlx.DType;
import dlx.DlxException;
import dlx.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.StringJoiner;

public class Share {
  public static void main(String[] arguments) {
    ByteBuffer memory = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    memory.asFloatBuffer().put(new float[] {0, 1, 2, 3, 4, 5});
    Runnable onRelease = () -> System.out.println("released");
    Tensor matrix = Tensor.wrap(memory, DType.FLOAT32, new long[] {2, 3}, null, onRelease);
    try {
      matrix.select(0, 9);
    } catch (DlxException error) {
      System.out.println(error.getMessage());
    }
    long managed;
    try (matrix; Tensor columns = matrix.transpose()) { // a view
      managed = columns.toDLPack(); // for any library that takes DLPack, and keeps the memory
    }
    try (Tensor taken = Tensor.fromDLPack(managed)) {
      StringJoiner values = new StringJoiner(" ");
      for (float value : taken.toFloats()) values.add(Integer.toString((int) value));
      System.out.println("(" + taken.shape()[0] + ", " + taken.shape()[1] + "): " + values);
    }
  }
}
