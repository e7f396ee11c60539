// The filters called from C#. Build: mcs -langversion:Latest -r:Dlx.dll Use.cs; run: mono Use.exe ./libfilter.so
using System;
using System.Linq;
using Dlx;

static class Use
{
  static void Main(string[] arguments)
  {
    // As filter.h has them.
    Function blur = Function.Load(arguments[0], "filter_blur_packed",
        "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)");
    Function brighten = Function.Load(arguments[0], "filter_brighten_packed",
        "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)");

    byte[] pixels = Enumerable.Range(0, 12).Select(i => (byte)(10 * i)).ToArray();
    using (Tensor image = Tensor.Wrap(pixels, new long[] {3, 4}, onRelease: () => Console.WriteLine("released")))
    using (Tensor column = image.Slice(1, 3), flat = image.Reshape(new long[] {12}))
    using (Tensor blurred = blur.Call(image)[0])
    {
      Console.WriteLine(string.Join(" ", blurred.ToArray<byte>()));
      brighten.Call(column); // the last column, in place
      Console.WriteLine(string.Join(" ", pixels));

      foreach (object[] wrong in new[] {new object[] {flat}, new object[] {image, -1}})
      {
        try
        {
          blur.Call(wrong);
        }
        catch (DlxException error)
        {
          Console.WriteLine(error.Message);
        }
      }
      IntPtr managed = blurred.ToDLPack(); // for any library that takes DLPack, and keeps the memory
      using (Tensor taken = Tensor.FromDLPack(managed))
        Console.WriteLine($"({string.Join(", ", taken.Shape)}): {string.Join(" ", taken.ToArray<byte>().Take(4))}");
    }
  }
}
