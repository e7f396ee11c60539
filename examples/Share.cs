// dlx from C#: share an array by DLPack. It stays pinned until the last user is done.
// Build: mcs -langversion:Latest -r:Dlx.dll Share.cs
using System;
using Dlx;

static class Share
{
  static void Main()
  {
    var pixels = new float[] {0, 1, 2, 3, 4, 5};
    IntPtr managed;
    using (Tensor matrix = Tensor.Wrap(pixels, new long[] {2, 3}, onRelease: () => Console.WriteLine("released")))
    using (Tensor columns = matrix.Transpose()) // a view
    {
      try
      {
        matrix.Select(0, 9);
      }
      catch (DlxException error)
      {
        Console.WriteLine(error.Message);
      }
      managed = columns.ToDLPack(); // for any library that takes DLPack, and keeps the memory
    }
    using (Tensor taken = Tensor.FromDLPack(managed))
    {
      Console.WriteLine($"({string.Join(", ", taken.Shape)}): {string.Join(" ", taken.ToArray<float>())}");
    }
  }
}
