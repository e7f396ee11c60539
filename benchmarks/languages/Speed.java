// Prints the nanoseconds of an exchange and of a copy.
import dlx.DType;
import dlx.Device;
import dlx.Tensor;
import java.nio.ByteBuffer;

public class Speed {
  static long time(int count, Runnable call) {
    for (int i = 0; i < count; ++i) call.run();
    long best = Long.MAX_VALUE;
    for (int round = 0; round < 5; ++round) {
      long start = System.nanoTime();
      for (int i = 0; i < count; ++i) call.run();
      best = Math.min(best, (System.nanoTime() - start) / count);
    }
    return best;
  }

  public static void main(String[] arguments) {
    ByteBuffer small = ByteBuffer.allocateDirect(24);
    long exchange = time(20000, () -> {
      long managed;
      try (Tensor tensor = Tensor.wrap(small, DType.FLOAT32, 2, 3)) {
        managed = tensor.toDLPack();
      }
      Tensor.deleteDLPack(managed);
    });
    Tensor columns = Tensor.empty(DType.FLOAT32, Device.CPU, 512, 512).transpose();
    Tensor packed = Tensor.empty(DType.FLOAT32, Device.CPU, 512, 512);
    System.out.println(exchange + " " + time(100, () -> packed.copyFrom(columns)));
  }
}
