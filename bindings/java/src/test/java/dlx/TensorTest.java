package dlx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Ownership, threads, element access and bad input. */
class TensorTest {
  private static final float[] VALUES = {0, 1, 2, 3, 4, 5};

  private static ByteBuffer direct() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    buffer.asFloatBuffer().put(VALUES);
    return buffer;
  }

  private static Tensor counted(AtomicInteger released) {
    return Tensor.wrap(direct(), DType.FLOAT32, new long[] {2, 3}, null, released::incrementAndGet);
  }

  private static boolean collected(BooleanSupplier condition) throws InterruptedException {
    for (int i = 0; i < 200 && !condition.getAsBoolean(); ++i) {
      System.gc();
      Thread.sleep(5);
    }
    return condition.getAsBoolean();
  }

  @Test
  void theMemoryIsShared() {
    ByteBuffer own = direct();
    try (Tensor tensor = Tensor.wrap(own, DType.FLOAT32, 2, 3); Tensor columns = tensor.transpose()) {
      own.asFloatBuffer().put(5, 9);
      assertEquals(9, columns.getFloat(2, 1));
      columns.setFloat(7, 0, 0);
      assertEquals(7, own.asFloatBuffer().get(0));
      assertEquals(7, tensor.buffer().asFloatBuffer().get(0));
      try (Tensor back = Tensor.fromDLPack(tensor.toDLPack())) {
        assertEquals(tensor.address(), back.address());
      }
      assertArrayEquals(new float[] {7, 3, 1, 4, 2, 9}, columns.toFloats());
    }
  }

  @Test
  void theLastUserReleasesOnce() {
    AtomicInteger released = new AtomicInteger();
    Tensor tensor = counted(released);
    Tensor view = tensor.transpose();
    long managed = view.toDLPack();
    tensor.close();
    tensor.close();
    view.close();
    assertEquals(0, released.get());
    Tensor.fromDLPack(managed).close();
    assertEquals(1, released.get());
  }

  @Test
  void theCollectorCloses() throws InterruptedException {
    AtomicInteger released = new AtomicInteger();
    counted(released);
    assertTrue(collected(() -> released.get() == 1));
  }

  @Test
  void aBufferKeepsTheMemory() throws InterruptedException {
    AtomicInteger released = new AtomicInteger();
    Tensor tensor = counted(released);
    FloatBuffer view = tensor.buffer().slice().order(ByteOrder.nativeOrder()).asFloatBuffer();
    tensor.close();
    System.gc();
    Thread.sleep(20);
    assertEquals(0, released.get());
    assertEquals(5, view.get(5));
    view = null;
    assertTrue(collected(() -> released.get() == 1));
  }

  @Test
  void segments() throws Throwable {
    Tensor tensor = Tensor.of(VALUES, 2, 3);
    Class<?> type;
    try {
      type = Class.forName("java.lang.foreign.MemorySegment");
    } catch (ClassNotFoundException none) {
      assertThrows(UnsupportedOperationException.class, () -> tensor.segment(Object.class));
      return;
    }
    Object segment = tensor.segment(type);
    assertEquals(24L, type.getMethod("byteSize").invoke(segment));
    assertEquals(tensor.address(), type.getMethod("address").invoke(segment));
  }

  @Test
  void threads() throws Exception {
    AtomicInteger released = new AtomicInteger();
    Tensor tensor = counted(released);
    ExecutorService pool = Executors.newFixedThreadPool(8);
    List<Future<?>> tasks = new ArrayList<>();
    for (int i = 0; i < 8; ++i) {
      int index = i;
      tasks.add(pool.submit(() -> {
        for (int j = 0; j < 300; ++j) {
          try {
            tensor.select(0, index % 2).close();
            tensor.select(0, 100 + index);
          } catch (DlxException.InvalidArgument error) {
            assertTrue(error.getMessage().contains("got " + (100 + index)), error.getMessage());
          } catch (IllegalStateException closed) {
            return;
          }
        }
      }));
    }
    Thread.sleep(3);
    tensor.close(); // while others use it
    for (Future<?> task : tasks) task.get();
    pool.shutdown();
    assertEquals(1, released.get());
  }

  @Test
  void aClosedTensorIsAnError() {
    Tensor tensor = Tensor.of(VALUES, 2, 3);
    tensor.close();
    assertTrue(tensor.isClosed());
    List<Executable> uses = List.of(tensor::transpose, tensor::toDLPack, tensor::buffer, tensor::address,
        () -> tensor.getFloat(0, 0), tensor::toBytes, tensor::synchronizeData, () -> tensor.copyFrom(tensor));
    for (Executable use : uses) {
      assertThrows(IllegalStateException.class, use);
    }
  }

  @Test
  void badInputIsAnError() {
    Tensor tensor = Tensor.of(VALUES, 2, 3);
    Tensor columns = tensor.transpose();
    Tensor readOnly = tensor.asReadOnly();
    List<Executable> invalid = List.of(
        () -> tensor.getFloat(0), () -> tensor.permute(0), () -> Tensor.of(VALUES, 2, 2),
        () -> Tensor.ofBytes(new byte[3], DType.INT16, 1), columns::buffer, () -> Tensor.fromDLPack(0),
        () -> Tensor.wrap(ByteBuffer.allocate(24), DType.FLOAT32, 2, 3),
        () -> Tensor.wrap(direct(), DType.FLOAT32, 2, 4),
        () -> Tensor.wrap(direct(), DType.FLOAT32, new long[] {2, 3}, new long[] {4, 1}, null),
        () -> Tensor.wrap(direct(), DType.FLOAT32, new long[] {2, 3}, new long[] {-3, 1}, null),
        () -> Tensor.wrap(direct(), DType.FLOAT32, new long[] {2, 3}, new long[] {1}, null),
        () -> Tensor.wrap(direct(), DType.FLOAT32, -1),
        () -> tensor.bitcast(DType.FLOAT64).getFloat(0, 0), () -> DType.parse("float31"),
        () -> tensor.bitcast(DType.parse("uint4")).get(0, 0));
    for (int i = 0; i < invalid.size(); ++i) {
      assertThrows(DlxException.InvalidArgument.class, invalid.get(i), "number " + i);
    }
    assertThrows(IndexOutOfBoundsException.class, () -> tensor.getFloat(2, 0));
    assertThrows(IllegalArgumentException.class, () -> DType.parse("float32\0"));
    assertThrows(IllegalArgumentException.class, () -> Device.parse(null));
    assertThrows(DlxException.ReadOnly.class, () -> readOnly.setFloat(1, 0, 0));
    assertThrows(DlxException.ReadOnly.class, () -> readOnly.copyFrom(tensor));
    assertThrows(ReadOnlyBufferException.class, () -> readOnly.buffer().put(0, (byte) 1));
    assertEquals("DLX_ERROR_COPY_REFUSED",
        assertThrows(DlxException.CopyRefused.class, () -> columns.contiguous(Order.C, CopyMode.NEVER)).code());
  }

  @Test
  void elements() {
    for (String name : List.of("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")) {
      try (Tensor tensor = Tensor.empty(DType.parse(name), Device.CPU, 2, 2)) {
        tensor.set(100, 1, 0);
        assertEquals(100, tensor.get(1, 0).intValue(), name);
      }
    }
    try (Tensor tensor = Tensor.ofBytes(new byte[] {-1, -1}, DType.parse("uint16"), 1)) {
      assertEquals(65535, tensor.get(0).intValue());
    }
  }

  @Test
  void devices() {
    assertEquals(1, Device.CPU.count());
    assertNotEquals("", Device.parse("maia").reason());
    assertFalse(Device.parse("cuda:1").isHost());
    try (Tensor tensor = Tensor.of(new long[] {1, 2}, 2); Tensor same = tensor.toDevice(Device.CPU)) {
      assertEquals(tensor.address(), same.address());
      assertEquals("Tensor(int64, [2], cpu)", tensor.toString());
    }
  }
}
