package dlx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Runs the conformance file (bindings/conformance), which every language runs. */
class ConformanceTest {
  private static final Set<String> CHECKS =
      Set.of("dtype", "shape", "strides", "readonly", "bytes", "is", "error");

  private static long[] numbers(String word) {
    if (word.equals("-")) return new long[0];
    return Arrays.stream(word.split(",")).mapToLong(Long::parseLong).toArray();
  }

  private static int[] axes(String word) {
    return Arrays.stream(numbers(word)).mapToInt(Math::toIntExact).toArray();
  }

  private static byte[] bytes(String word) {
    return HexFormat.of().parseHex(word.equals("-") ? "" : word);
  }

  private static long open(String word) {
    return word.equals("_") ? Tensor.OPEN : Long.parseLong(word);
  }

  private static String list(long[] values) {
    if (values.length == 0) return "-";
    return LongStream.of(values).mapToObj(Long::toString).collect(Collectors.joining(","));
  }

  private static Tensor tensor(String dtype, String shape, String data) {
    return Tensor.ofBytes(bytes(data), DType.parse(dtype), numbers(shape));
  }

  private static Tensor wrap(String[] w) {
    byte[] data = bytes(w[5]);
    ByteBuffer memory = ByteBuffer.allocateDirect(data.length).put(data);
    memory.position(Integer.parseInt(w[4]));
    return Tensor.wrap(memory, DType.parse(w[1]), numbers(w[2]), numbers(w[3]), null);
  }

  private static Tensor step(Tensor t, String[] w) {
    List<String> how = List.of(w);
    CopyMode copy = how.contains("never") ? CopyMode.NEVER : CopyMode.IF_NEEDED;
    return switch (w[0]) {
      case "tensor" -> tensor(w[1], w[2], w[3]);
      case "wrap" -> wrap(w);
      case "foreign" -> Tensor.fromDLPack(Foreign.make(w[1], numbers(w[2])));
      case "permute" -> w.length == 1 ? t.transpose() : t.permute(axes(w[1]));
      case "slice" -> t.slice(Integer.parseInt(w[1]), open(w[2]), open(w[3]), open(w[4]));
      case "select" -> t.select(Integer.parseInt(w[1]), Long.parseLong(w[2]));
      case "squeeze" -> t.squeeze(w.length == 1 ? new int[0] : axes(w[1]));
      case "expand_dims" -> t.expandDims(Integer.parseInt(w[1]));
      case "broadcast_to" -> t.broadcastTo(numbers(w[1]));
      case "bitcast" -> t.bitcast(DType.parse(w[1]));
      case "as_readonly" -> t.asReadOnly();
      case "contiguous" -> t.contiguous(how.contains("F") ? Order.F : Order.C, copy);
      case "clone" -> t.copy();
      case "reshape" -> t.reshape(copy, numbers(w[1]));
      case "to_device" -> t.toDevice(Device.parse(w[1]));
      case "dlpack" -> Tensor.fromDLPack(t.toDLPack());
      case "legacy" -> Tensor.fromLegacyDLPack(t.toLegacyDLPack());
      case "copy_from" -> {
        t.copyFrom(tensor(w[1], w[2], w[3]));
        yield t;
      }
      default -> throw new AssertionError("no operation " + w[0]);
    };
  }

  private static List<String> outcome(List<String> operations) {
    Tensor t = null;
    try {
      for (String line : operations) {
        String[] w = line.split(" ");
        if (w[0].equals("parse_dtype")) {
          DType d = DType.parse(w[1]);
          return List.of("is " + d.code() + " " + d.bits() + " " + d.lanes() + " " + d);
        }
        if (w[0].equals("parse_device")) {
          Device d = Device.parse(w[1]);
          return List.of("is " + d.type() + " " + d.id() + " " + d);
        }
        t = step(t, w);
      }
    } catch (DlxException error) {
      return List.of("error " + error.status() + " " + error.getMessage());
    }
    String data = HexFormat.of().formatHex(t.toBytes());
    return List.of("dtype " + t.dtype(), "shape " + list(t.shape()), "strides " + list(t.strides()),
        "readonly " + (t.isReadOnly() ? 1 : 0), "bytes " + (data.isEmpty() ? "-" : data));
  }

  @TestFactory
  Stream<DynamicTest> cases() throws IOException {
    String file = System.getenv().getOrDefault("DLX_CONFORMANCE", "../conformance/cases.txt");
    return Arrays.stream(Files.readString(Path.of(file)).strip().split("\n\n"))
        .filter(part -> part.startsWith("case "))
        .map(part -> dynamicTest(part.lines().findFirst().orElseThrow(), () -> {
          List<String> lines = part.lines().skip(1).toList();
          List<String> checks = lines.stream().filter(l -> CHECKS.contains(l.split(" ")[0])).toList();
          List<String> operations = lines.subList(0, lines.size() - checks.size());
          int before = Foreign.DELETED.get();
          assertEquals(String.join("\n", checks), String.join("\n", outcome(operations)));
          if (operations.get(0).startsWith("foreign") && checks.get(0).startsWith("error")) {
            assertEquals(before + 1, Foreign.DELETED.get());
          }
        }));
  }
}
