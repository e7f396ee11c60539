using System;
using System.Linq;
using Dlx;

/// <summary>Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).</summary>
static class Functions
{
  static readonly string Library = Environment.GetEnvironmentVariable("DLX_FILTER");

  static Function Blur => Function.Load(
      Library, "filter_blur_packed", "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)");
  static Function Brighten => Function.Load(
      Library, "filter_brighten_packed", "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)");

  static Tensor Image(out byte[] pixels)
  {
    pixels = Enumerable.Range(0, 12).Select(i => (byte)(10 * i)).ToArray();
    return Tensor.Wrap(pixels, new long[] {3, 4});
  }

  static void Refused(string words, Action call, ErrorCode code = ErrorCode.InvalidArgument)
  {
    try
    {
      call();
    }
    catch (DlxException error)
    {
      Tests.Equal(words, error.Message);
      Tests.Equal(code, error.Code);
      return;
    }
    throw new Exception("no error: " + words);
  }

  static void ResultsAreTensors()
  {
    using (Function blur = Blur)
    using (Tensor image = Image(out byte[] pixels))
    using (Tensor blurred = blur.Call(image)[0], same = blur.Call(image, 0L)[0])
    {
      Tests.Equal("25 30 40 45 45 50 60 65 65 70 80 85", string.Join(" ", blurred.ToArray<byte>()));
      Tests.Equal(string.Join(" ", pixels), string.Join(" ", same.ToArray<byte>()));
      Tests.Equal("Function(blur)", blur.ToString());
    }
  }

  static void ArgumentsAreWritten()
  {
    using (Function brighten = Brighten)
    using (Tensor image = Image(out byte[] pixels))
    using (Tensor column = image.Slice(1, 3), readOnly = image.AsReadOnly())
    {
      Tests.Equal(0, brighten.Call(column).Length);
      Tests.Equal("0 10 20 45 40 50 60 105 80 90 100 165", string.Join(" ", pixels));
      brighten.Call(image, 0.0);
      Tests.Equal(0, pixels.Max(pixel => (int)pixel));
      Refused("brighten: `image` is written to, and the array is read-only", () => brighten.Call(readOnly),
              ErrorCode.ReadOnly);
    }
  }

  static void WhatDoesNotFitIsAnError()
  {
    Function blur = Blur;
    Tensor image = Image(out byte[] pixels);
    Refused("blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))",
            () => blur.Call(image.Reshape(new long[] {12})));
    Refused("blur: `radius` is negative (got -1)", () => blur.Call(image, -1));
    Refused("blur: `image` is missing", () => blur.Call());
    Refused("blur: it takes 2 arguments (got 3)", () => blur.Call(image, 1, 2));
    Refused("blur: `radius` is not an integer", () => blur.Call(image, 1.5));
    Refused("blur: `image` is not a Tensor", () => blur.Call(pixels));
    Refused("dlx: not the address of a function", () => new Function(IntPtr.Zero, "f()"));
    foreach (string[] words in new[] {new[] {Library, "filter_blur_packed", "blur(image: uint9[h])"},
                                      new[] {Library, "no_such_symbol", "f()"}, new[] {"/no/such", "f", "f()"}})
      Tests.Throws<DlxException>(() => Function.Load(words[0], words[1], words[2]), ErrorCode.InvalidArgument);
    Refused("dlx: no function f in /no/such: /no/such: cannot open shared object file: No such file or directory", () => Function.Load("/no/such", "f", "f()"));
    image.Dispose();
    Tests.Throws<ObjectDisposedException>(() => blur.Call(image));
    blur.Dispose();
    Tests.Throws<ObjectDisposedException>(() => blur.Call(Image(out pixels)));
  }

  internal static void Run()
  {
    if (Library == null) return;
    Tests.Test("results are tensors", ResultsAreTensors);
    Tests.Test("arguments are written", ArgumentsAreWritten);
    Tests.Test("what does not fit is an error", WhatDoesNotFitIsAnError);
  }
}
