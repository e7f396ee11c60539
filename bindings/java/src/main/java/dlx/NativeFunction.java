package dlx;

import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A function of C that takes the tensors that fit its contract (dlx/call.h). Threads may share it, if the
 * function may run on several threads.
 */
public final class NativeFunction {
  /** What the kinds of parameters take, in the order of DLX_PARAMETER_*. */
  private static final String[] TAKES = {
    "a Tensor", "an integer", "a double", "a boolean", "a string without zero characters"
  };

  private static final class Parameter {
    final int kind;
    final long flags;
    final String name;
    final long byDefault;

    Parameter(Pointer p) {
      kind = p.getInt(Raw.dlx_parameter.kind);
      flags = p.getLong(Raw.dlx_parameter.flags);
      name = p.getPointer(Raw.dlx_parameter.name).getString(0, "UTF-8");
      byDefault = p.getLong(Raw.dlx_parameter.default_value);
    }

    boolean has(int flag) {
      return (flags & flag) != 0;
    }

    boolean isPassed() {
      return !has(Raw.DLX_PARAMETER_RESULT) && kind != Raw.DLX_PARAMETER_STREAM;
    }
  }

  private final long address;
  private final long contract;
  private final String name;
  private final Parameter[] parameters;

  /**
   * The dlx_function at an address, and its contract, such as "blur(image: uint8[h, w], out: uint8[h, w]
   * result)". A wrong address crashes, as in C.
   */
  public NativeFunction(long address, String contract) {
    if (address == 0) throw new DlxException.InvalidArgument("dlx: not the address of a function");
    long[] made = new long[1];
    DlxException.check(Raw.dlx_contract_create(Scratch.checked(contract, "contract"), made));
    long owned = made[0];
    Tensor.CLEANER.register(this, () -> Raw.dlx_contract_release(owned));
    this.address = address;
    this.contract = owned;
    name = Raw.dlx_contract_name(owned);
    parameters = new Parameter[Raw.dlx_contract_count(owned)];
    for (int i = 0; i < parameters.length; ++i) {
      Memory out = Scratch.of(Raw.dlx_parameter.SIZE);
      out.setInt(Raw.dlx_parameter.struct_size, Raw.dlx_parameter.SIZE);
      DlxException.check(Raw.dlx_contract_parameter(owned, i, Scratch.address(out)));
      parameters[i] = new Parameter(out);
    }
  }

  /** A function of a shared library: its path, or a name that JNA finds. An UnsatisfiedLinkError without it. */
  public static NativeFunction load(String library, String name, String contract) {
    NativeLibrary found = NativeLibrary.getInstance(library);
    return new NativeFunction(Pointer.nativeValue(found.getGlobalVariableAddress(name)), contract);
  }

  /** The name of the function in its contract. */
  public String name() {
    return name;
  }

  /**
   * Calls the function: a {@link Tensor} for an array, an Integer or Long, a Double, a Boolean, a String;
   * null is a default. Returns the results of the contract, which the caller closes.
   */
  public Tensor[] call(Object... arguments) {
    long passed = Arrays.stream(parameters).filter(Parameter::isPassed).count();
    if (arguments.length > passed) {
      throw wrong("it takes " + passed + " arguments (got " + arguments.length + ")");
    }
    Memory values = new Memory(8L * parameters.length + 8);
    Tensor[] tensors = new Tensor[parameters.length];
    List<Memory> texts = new ArrayList<>(); // alive until the call returns
    int next = 0;
    for (int i = 0; i < parameters.length; ++i) {
      Parameter p = parameters[i];
      values.setLong(8L * i, p.byDefault);
      if (!p.isPassed()) continue;
      Object argument = next < arguments.length ? arguments[next] : null;
      ++next;
      if (argument != null) put(i, argument, tensors, values, texts);
      else if (!p.has(Raw.DLX_PARAMETER_OPTIONAL)) throw wrong("`" + p.name + "` is missing");
    }
    try {
      return run(tensors, values);
    } finally {
      Reference.reachabilityFence(texts);
    }
  }

  private void put(int index, Object argument, Tensor[] tensors, Memory values, List<Memory> texts) {
    int kind = parameters[index].kind;
    long at = 8L * index;
    if (kind == Raw.DLX_PARAMETER_ARRAY && argument instanceof Tensor tensor) {
      tensors[index] = tensor;
    } else if (kind == Raw.DLX_PARAMETER_INT && (argument instanceof Integer || argument instanceof Long)) {
      values.setLong(at, ((Number) argument).longValue());
    } else if (kind == Raw.DLX_PARAMETER_FLOAT && (argument instanceof Double || argument instanceof Float)) {
      values.setDouble(at, ((Number) argument).doubleValue());
    } else if (kind == Raw.DLX_PARAMETER_BOOL && argument instanceof Boolean is) {
      values.setLong(at, is ? 1 : 0);
    } else if (kind == Raw.DLX_PARAMETER_TEXT && argument instanceof String text && text.indexOf('\0') < 0) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      Memory copy = new Memory(bytes.length + 1L);
      copy.clear();
      copy.write(0, bytes, 0, bytes.length);
      texts.add(copy);
      values.setPointer(at, copy);
    } else {
      throw wrong("`" + parameters[index].name + "` is not " + TAKES[kind]);
    }
  }

  private Tensor[] run(Tensor[] tensors, Memory values) {
    long[] handles = new long[parameters.length + 1];
    int count = (int) Arrays.stream(parameters).filter(p -> p.has(Raw.DLX_PARAMETER_RESULT)).count();
    long[] out = new long[count + 1];
    try {
      for (int i = 0; i < tensors.length; ++i) {
        if (tensors[i] != null) handles[i] = tensors[i].retained();
      }
      DlxException.check(
          Raw.dlx_contract_call(contract, address, 0, handles, Scratch.address(values), out));
    } finally {
      for (long handle : handles) Raw.dlx_tensor_release(handle);
      Reference.reachabilityFence(this);
    }
    Tensor[] results = new Tensor[count];
    for (int i = 0; i < count; ++i) results[i] = new Tensor(out[i]);
    return results;
  }

  private DlxException wrong(String words) {
    return new DlxException.InvalidArgument(name + ": " + words);
  }

  @Override
  public String toString() {
    return "NativeFunction(" + name + ")";
  }
}
