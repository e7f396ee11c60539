using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Dlx;

/// <summary>Ownership, threads, elements and bad input. A program, so that it needs no test framework.</summary>
static class Tests
{
  static int count, failed;

  internal static void Test(string name, Action test)
  {
    ++count;
    try
    {
      test();
    }
    catch (Exception error)
    {
      ++failed;
      Console.WriteLine($"FAILED {name}: {error}");
    }
  }

  internal static void Equal<T>(T expected, T got)
  {
    if (!Equals(expected, got)) throw new Exception($"expected\n{expected}\ngot\n{got}");
  }

  internal static void Throws<T>(Action call, ErrorCode? code = null) where T : Exception
  {
    try
    {
      call();
    }
    catch (T error)
    {
      if (code != null) Equal(code, (error as DlxException)?.Code);
      return;
    }
    throw new Exception("no " + typeof(T));
  }

  static float[] Values() => new float[] {0, 1, 2, 3, 4, 5};
  static readonly long[] Shape = {2, 3};

  static void TheMemoryIsShared()
  {
    float[] own = Values();
    using (Tensor tensor = Tensor.Wrap(own, Shape))
    using (Tensor columns = tensor.Transpose())
    {
      columns.Set(9f, 2, 1);
      Equal(9f, own[5]);
      tensor.WithSpan<float>(span => span[0] = 7);
      Equal(7f, columns.Get<float>(0, 0));
      using (Tensor back = Tensor.FromDLPack(tensor.ToDLPack())) Equal(tensor.Address, back.Address);
      Equal("7 3 1 4 2 9", string.Join(" ", columns.ToArray<float>()));
      Equal("Tensor(float32, (3, 2), cpu)", columns.ToString());
    }
  }

  static void TheLastUserReleasesOnce()
  {
    int released = 0;
    Tensor tensor = Tensor.Wrap(Values(), Shape, onRelease: () => ++released);
    Tensor view = tensor.Transpose();
    IntPtr managed = view.ToDLPack();
    tensor.Dispose();
    tensor.Dispose();
    view.Dispose();
    Equal(0, released);
    Tensor.FromDLPack(managed).Dispose();
    Equal(1, released);
  }

  static void TheCollectorReleases()
  {
    int released = 0;
    var thread = new Thread(() => Tensor.Wrap(Values(), Shape, onRelease: () => Interlocked.Increment(ref released)));
    thread.Start();
    thread.Join();
    for (int i = 0; i < 100 && released == 0; ++i)
    {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(1);
    }
    Equal(1, released);
  }

  static void Threads()
  {
    int released = 0;
    Tensor tensor = Tensor.Wrap(Values(), Shape, onRelease: () => Interlocked.Increment(ref released));
    Task[] tasks = Enumerable.Range(0, 8).Select(i => Task.Run(() =>
    {
      for (int j = 0; j < 200; ++j)
      {
        try
        {
          tensor.Select(0, i % 2).Dispose();
          tensor.Select(0, 100 + i);
        }
        catch (DlxException error)
        {
          if (!error.Message.Contains("got " + (100 + i))) throw;
        }
        catch (ObjectDisposedException)
        {
          return;
        }
      }
    })).ToArray();
    Thread.Sleep(3);
    tensor.Dispose(); // while others use it
    Task.WaitAll(tasks);
    Equal(1, released);
  }

  static void BadInputIsAnError()
  {
    Tensor tensor = Tensor.Wrap(Values(), Shape), columns = tensor.Transpose(), readOnly = tensor.AsReadOnly();
    Action[] invalid =
    {
      () => tensor.Get<double>(0, 0), () => tensor.Get<float>(0), () => tensor.Permute(0), () => tensor.Bitcast(DType.Parse("float31")),
      () => columns.WithSpan<float>(span => { }), () => Tensor.FromDLPack(IntPtr.Zero), () => Tensor.Wrap(Values(), new long[] {2, 4}),
      () => Tensor.Wrap(Values(), Shape, new long[] {4, 1}), () => Tensor.Wrap(Values(), Shape, new long[] {-3, 1}),
      () => Tensor.Wrap(Values(), Shape, new long[] {1}), () => Tensor.Wrap(Values(), Shape, start: 1),
      () => Tensor.Wrap(Values(), new long[] {-1}), () => DType.Of<char>(),
    };
    foreach (Action call in invalid) Throws<DlxException>(call, ErrorCode.InvalidArgument);
    Throws<IndexOutOfRangeException>(() => tensor.Get<float>(2, 0));
    Throws<ArgumentException>(() => DType.Parse("float32\0"));
    Action[] missing =
    {
      () => Device.Parse(null), () => Tensor.Wrap<float>(null, Shape), () => Tensor.Wrap(Values(), null), () => tensor.Reshape(null),
      () => tensor.Permute(null), () => tensor.Squeeze(null), () => tensor.BroadcastTo(null), () => tensor.CopyFrom(null),
      () => tensor.Get<float>(null), () => Tensor.Empty(DType.Of<float>(), Device.Cpu, null),
    };
    foreach (Action call in missing) Throws<ArgumentNullException>(call);
    Throws<DlxException>(() => columns.Contiguous(copy: CopyMode.Never), ErrorCode.CopyRefused);
    Throws<DlxException>(() => readOnly.Set(1f, 0, 0), ErrorCode.ReadOnly);
    Throws<DlxException>(() => readOnly.WithSpan<float>(span => { }), ErrorCode.ReadOnly);
    Throws<DlxException>(() => readOnly.CopyFrom(tensor), ErrorCode.ReadOnly);
    tensor.Dispose();
    foreach (Action use in new Action[] {() => tensor.Transpose(), () => tensor.ToDLPack(), () => tensor.ToBytes(),
                                         () => tensor.Get<float>(0, 0), () => columns.CopyFrom(tensor)})
      Throws<ObjectDisposedException>(use);
    try
    {
      tensor.Transpose();
    }
    catch (ObjectDisposedException error)
    {
      Equal(true, error.Message.StartsWith("dlx: the tensor is closed"));
    }
  }

  static void Devices()
  {
    Equal(1, Device.Cpu.Count);
    Equal(false, Device.Parse("maia").Reason == "");
    using (Tensor zeros = Tensor.Empty(DType.Of<short>(), Device.Cpu, 2)) Equal("0 0", string.Join(" ", zeros.ToArray<short>()));
  }

  static int Main(string[] arguments)
  {
    Conformance.Run(arguments[0]);
    Test("the memory is shared", TheMemoryIsShared);
    Test("the last user releases once", TheLastUserReleasesOnce);
    Test("the collector releases", TheCollectorReleases);
    Test("threads", Threads);
    Test("bad input is an error", BadInputIsAnError);
    Test("devices", Devices);
    Functions.Run();
    Console.WriteLine($"{count} tests, {failed} failed");
    return failed == 0 && count > 80 ? 0 : 1;
  }
}
