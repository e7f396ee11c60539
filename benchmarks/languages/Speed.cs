// Prints the nanoseconds of an exchange and of a copy.
using System;
using System.Diagnostics;
using Dlx;

static class Speed
{
  static double Time(int count, Action call)
  {
    double best = double.MaxValue;
    for (int round = 0; round < 6; ++round)
    {
      Stopwatch watch = Stopwatch.StartNew();
      for (int i = 0; i < count; ++i) call();
      best = Math.Min(best, watch.Elapsed.TotalMilliseconds * 1e6 / count);
    }
    return best;
  }

  static void Main()
  {
    var small = new float[6];
    long[] shape = {2, 3};
    double exchange = Time(20000, () =>
    {
      using (Tensor tensor = Tensor.Wrap(small, shape))
      using (Tensor.FromDLPack(tensor.ToDLPack())) { }
    });
    Tensor columns = Tensor.Empty(DType.Of<float>(), Device.Cpu, 512, 512).Transpose();
    Tensor packed = Tensor.Empty(DType.Of<float>(), Device.Cpu, 512, 512);
    Console.WriteLine($"{exchange:F0} {Time(100, () => packed.CopyFrom(columns)):F0}");
  }
}
