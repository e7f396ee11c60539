using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Dlx;

/// <summary>Runs the conformance file (bindings/conformance), which every language runs.</summary>
static class Conformance
{
  static readonly string[] Checks = {"dtype", "shape", "strides", "readonly", "bytes", "is", "error"};

  static long[] Numbers(string word) => word == "-" ? new long[0] : word.Split(',').Select(long.Parse).ToArray();
  static int[] Axes(string word) => Numbers(word).Select(n => (int)n).ToArray();
  static string List(long[] values) => values.Length == 0 ? "-" : string.Join(",", values);
  static long Open(string word) => word == "_" ? Tensor.Open : long.Parse(word);

  static byte[] Bytes(string word) => word == "-" ? new byte[0]
      : Enumerable.Range(0, word.Length / 2).Select(i => Convert.ToByte(word.Substring(2 * i, 2), 16)).ToArray();

  static Tensor Make(string dtype, string shape, string data)
  {
    DType type = DType.Parse(dtype);
    // No elements, or an error of dlx_tensor_empty.
    return data == "-" ? Tensor.Empty(type, Device.Cpu, Numbers(shape))
                       : Tensor.Wrap(Bytes(data), type, Numbers(shape), null, 0, null);
  }

  static Tensor Step(Tensor t, string[] w)
  {
    CopyMode copy = w.Contains("never") ? CopyMode.Never : CopyMode.IfNeeded;
    switch (w[0])
    {
      case "tensor": return Make(w[1], w[2], w[3]);
      case "wrap": return Tensor.Wrap(Bytes(w[5]), DType.Parse(w[1]), Numbers(w[2]), Numbers(w[3]), int.Parse(w[4]), null);
      case "foreign": return Tensor.FromDLPack(Foreign.Make(w[1], Numbers(w[2])));
      case "permute": return w.Length == 1 ? t.Transpose() : t.Permute(Axes(w[1]));
      case "slice": return t.Slice(int.Parse(w[1]), Open(w[2]), Open(w[3]), Open(w[4]));
      case "select": return t.Select(int.Parse(w[1]), long.Parse(w[2]));
      case "squeeze": return w.Length == 1 ? t.Squeeze() : t.Squeeze(Axes(w[1]));
      case "expand_dims": return t.ExpandDims(int.Parse(w[1]));
      case "broadcast_to": return t.BroadcastTo(Numbers(w[1]));
      case "bitcast": return t.Bitcast(DType.Parse(w[1]));
      case "as_readonly": return t.AsReadOnly();
      case "contiguous": return t.Contiguous(w.Contains("F") ? Order.F : Order.C, copy);
      case "clone": return t.Clone();
      case "reshape": return t.Reshape(Numbers(w[1]), copy);
      case "to_device": return t.ToDevice(Device.Parse(w[1]));
      case "dlpack": return Tensor.FromDLPack(t.ToDLPack());
      case "legacy": return Tensor.FromLegacyDLPack(t.ToLegacyDLPack());
      case "copy_from": t.CopyFrom(Make(w[1], w[2], w[3])); return t;
      default: throw new Exception("no operation " + w[0]);
    }
  }

  static IEnumerable<string> Outcome(IEnumerable<string> operations)
  {
    Tensor t = null;
    try
    {
      foreach (string line in operations)
      {
        string[] w = line.Split(' ');
        if (w[0] == "parse_dtype")
        {
          DType d = DType.Parse(w[1]);
          return new[] {$"is {d.Code} {d.Bits} {d.Lanes} {d}"};
        }
        if (w[0] == "parse_device")
        {
          Device d = Device.Parse(w[1]);
          return new[] {$"is {d.Type} {d.Id} {d}"};
        }
        t = Step(t, w);
      }
    }
    catch (DlxException error)
    {
      return new[] {$"error {(int)error.Code} {error.Message}"};
    }
    string data = string.Concat(t.ToBytes().Select(b => b.ToString("x2")));
    return new[] {$"dtype {t.DType}", "shape " + List(t.Shape), "strides " + List(t.Strides),
                  "readonly " + (t.IsReadOnly ? 1 : 0), "bytes " + (data == "" ? "-" : data)};
  }

  internal static void Run(string file)
  {
    foreach (string part in File.ReadAllText(file).Trim().Split(new[] {"\n\n"}, StringSplitOptions.None))
    {
      string[] lines = part.Split('\n');
      if (!lines[0].StartsWith("case ")) continue;
      string[] checks = lines.Skip(1).Where(l => Checks.Contains(l.Split(' ')[0])).ToArray();
      string[] operations = lines.Skip(1).Except(checks).ToArray();
      Tests.Test(lines[0], () =>
      {
        Tests.Equal(string.Join("\n", checks), string.Join("\n", Outcome(operations)));
        if (operations[0].StartsWith("foreign") && checks[0].StartsWith("error")) Tests.Equal(true, Foreign.IsLastDeleted);
      });
    }
    Tests.Test("no deleter runs twice", () => Tests.Equal(0, Foreign.DeletedTwice));
  }
}
