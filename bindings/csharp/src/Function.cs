using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;

namespace Dlx
{
  /// <summary>A function of C that takes the tensors that fit its contract (dlx/call.h).</summary>
  /// <remarks>Threads may share it, if the function may run on several threads.</remarks>
  public sealed unsafe class Function : IDisposable
  {
    // What the kinds of parameters take, in the order of DLX_PARAMETER_*.
    static readonly string[] Takes = {"a Tensor", "an integer", "a double", "a bool", "a string without zero characters"};

    /// <summary>A contract, released once.</summary>
    sealed class Contract : SafeHandle
    {
      internal Contract(IntPtr contract) : base(IntPtr.Zero, true) { SetHandle(contract); }

      public override bool IsInvalid => handle == IntPtr.Zero;

      protected override bool ReleaseHandle()
      {
        Raw.dlx_contract_release(handle);
        return true;
      }
    }

    sealed class Parameter
    {
      internal string Name;
      internal int Kind;
      internal bool IsOptional, IsResult;
      internal dlx_argument Default;

      internal bool IsPassed => !IsResult && Kind != Raw.DLX_PARAMETER_STREAM;
    }

    [DllImport("libdl.so.2")] static extern IntPtr dlopen(byte[] path, int mode);
    [DllImport("libdl.so.2")] static extern IntPtr dlsym(IntPtr library, byte[] name);
    [DllImport("libdl.so.2")] static extern IntPtr dlerror();

    readonly IntPtr address;
    readonly Contract contract;
    readonly Parameter[] parameters;

    /// <summary>The dlx_function at an address, and its contract, such as "blur(image: uint8[h, w], out:
    /// uint8[h, w] result)". A wrong address crashes, as in C.</summary>
    public Function(IntPtr address, string contract)
    {
      if (address == IntPtr.Zero) throw DlxException.Invalid("dlx: not the address of a function");
      IntPtr made;
      fixed (byte* text = Text.Bytes(contract)) DlxException.Check(Raw.dlx_contract_create(text, &made));
      this.address = address;
      this.contract = new Contract(made);
      Name = Text.Read(Raw.dlx_contract_name(made));
      parameters = new Parameter[Raw.dlx_contract_count(made)];
      for (int i = 0; i < parameters.Length; ++i) parameters[i] = Describe(made, i);
    }

    /// <summary>A function of a shared library, which stays loaded.</summary>
    public static Function Load(string library, string name, string contract)
    {
      IntPtr loaded = dlopen(Text.Bytes(library), 2);
      IntPtr found = loaded == IntPtr.Zero ? IntPtr.Zero : dlsym(loaded, Text.Bytes(name));
      if (found == IntPtr.Zero) throw DlxException.Invalid($"dlx: no function {name} in {library}: {Reason()}");
      return new Function(found, contract);
    }

    /// <summary>The loader's words, which calls that .NET itself makes may clear.</summary>
    static string Reason()
    {
      IntPtr words = dlerror();
      return words == IntPtr.Zero ? "the loader does not say why" : Text.Read((byte*)words);
    }

    /// <summary>The name of the function in its contract.</summary>
    public string Name { get; }

    static Parameter Describe(IntPtr contract, int index)
    {
      var p = new dlx_parameter { struct_size = (uint)sizeof(dlx_parameter) };
      DlxException.Check(Raw.dlx_contract_parameter(contract, index, &p));
      return new Parameter
      {
        Name = Text.Read(p.name),
        Kind = p.kind,
        IsOptional = (p.flags & Raw.DLX_PARAMETER_OPTIONAL) != 0,
        IsResult = (p.flags & Raw.DLX_PARAMETER_RESULT) != 0,
        Default = p.default_value,
      };
    }

    /// <summary>Calls the function: a Tensor for an array, an int or long, a double, a bool, a string; null is
    /// a default. Returns the results of the contract, which the caller disposes.</summary>
    public Tensor[] Call(params object[] arguments)
    {
      int passed = parameters.Count(p => p.IsPassed);
      if (arguments.Length > passed) throw Wrong($"it takes {passed} arguments (got {arguments.Length})");
      var values = new dlx_argument[parameters.Length + 1];
      var tensors = new IntPtr[parameters.Length + 1];
      var texts = new List<GCHandle>();
      try
      {
        int next = 0;
        for (int i = 0; i < parameters.Length; ++i)
        {
          Parameter p = parameters[i];
          values[i] = p.Default;
          if (!p.IsPassed) continue;
          object argument = next < arguments.Length ? arguments[next] : null;
          ++next;
          if (argument != null) Put(p, argument, ref values[i], ref tensors[i], texts);
          else if (!p.IsOptional) throw Wrong($"`{p.Name}` is missing");
        }
        return Run(values, tensors);
      }
      finally
      {
        foreach (IntPtr tensor in tensors) Raw.dlx_tensor_release(tensor);
        foreach (GCHandle text in texts) text.Free();
      }
    }

    void Put(Parameter p, object argument, ref dlx_argument value, ref IntPtr tensor, List<GCHandle> texts)
    {
      if (p.Kind == Raw.DLX_PARAMETER_ARRAY && argument is Tensor given) tensor = given.Retain();
      else if (p.Kind == Raw.DLX_PARAMETER_INT && argument is int small) value.integer = small;
      else if (p.Kind == Raw.DLX_PARAMETER_INT && argument is long number) value.integer = number;
      else if (p.Kind == Raw.DLX_PARAMETER_FLOAT && argument is double real) value.real = real;
      else if (p.Kind == Raw.DLX_PARAMETER_BOOL && argument is bool set) value.integer = set ? 1 : 0;
      else if (p.Kind == Raw.DLX_PARAMETER_TEXT && argument is string text && text.IndexOf('\0') < 0)
      {
        texts.Add(GCHandle.Alloc(Text.Bytes(text), GCHandleType.Pinned));
        value.text = (byte*)texts[texts.Count - 1].AddrOfPinnedObject();
      }
      else throw Wrong($"`{p.Name}` is not {Takes[p.Kind]}");
    }

    Tensor[] Run(dlx_argument[] values, IntPtr[] tensors)
    {
      var made = new IntPtr[parameters.Count(p => p.IsResult) + 1];
      bool entered = false;
      try
      {
        contract.DangerousAddRef(ref entered); // throws ObjectDisposedException
        fixed (dlx_argument* first = values)
        fixed (IntPtr* handles = tensors, results = made)
        {
          DlxException.Check(
              Raw.dlx_contract_call(contract.DangerousGetHandle(), address, null, handles, first, results));
        }
      }
      finally
      {
        if (entered) contract.DangerousRelease();
      }
      return made.Take(made.Length - 1).Select(owned => new Tensor(owned)).ToArray();
    }

    DlxException Wrong(string words) => DlxException.Invalid($"{Name}: {words}");

    public void Dispose() => contract.Dispose();

    public override string ToString() => $"Function({Name})";
  }
}
