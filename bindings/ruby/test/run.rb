# frozen_string_literal: true

# The conformance file (bindings/conformance), which every language runs, and the tests of this package.
require 'dlx'
require 'minitest/autorun'
require_relative 'functions'

# Another library: it makes managed tensors, and counts for each how often it was deleted.
module Foreign
  @kept = {}
  @deletions = Hash.new(0)
  DELETER = Class.new(Fiddle::Closure) do
    def call(managed) = Foreign.delete(managed.to_i)
  end.new(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP])

  class << self
    attr_reader :last

    # The collector may delete those of other tests at any time.
    def deleted(address = last) = @deletions[address]
    def delete(address) = @deletions[address] += 1

    # The address of a DLManagedTensorVersioned of float32 (2, 3), with one field changed.
    def make(field, values)
      memory = Fiddle::Pointer.malloc(80 + 32 + 24)
      at = memory.to_i
      fields = { 'major' => 1, 'flags' => 0, 'data' => at + 112, 'device_type' => 1, 'ndim' => 2, 'code' => 2,
                 'bits' => 32, 'lanes' => 1, 'shape' => [2, 3], 'strides' => [3, 1] }
      fields[field] = %w[shape strides].include?(field) ? values : values[0]
      memory[0, 136] = [fields['major'], 0].pack('LL') + [0, DELETER.to_i, fields['flags']].pack('JJQ') +
                       [fields['data'], fields['device_type'], 0, fields['ndim'],
                        *fields.values_at('code', 'bits', 'lanes'), at + 80, at + 96, 0].pack('JlllCCSJJQ') +
                       (fields['shape'] + fields['strides']).pack('q4') + [0, 1, 2, 3, 4, 5].pack('f*')
      @kept[at] = memory
      @last = at
    end
  end
end

# Runs cases.txt.
class TestConformance < Minitest::Test
  FILE = ENV.fetch('DLX_CONFORMANCE') { File.join(__dir__, '../../conformance/cases.txt') }
  CHECKS = %w[dtype shape strides readonly bytes is error].freeze

  def self.numbers(word) = word == '-' ? [] : word.split(',').map { |number| Integer(number) }
  def self.list(values) = values.empty? ? '-' : values.join(',')
  def self.bytes(word) = [word.delete('-')].pack('H*')
  def self.open(word) = word == '_' ? nil : Integer(word)

  def self.how(words)
    { copy: words.include?('never') ? :never : :if_needed, order: words.include?('F') ? :f : :c }
  end

  def self.tensor(dtype, shape, data) = Dlx::Tensor.from_bytes(bytes(data), dtype, numbers(shape))

  # Memory that outlives the tensor.
  def self.wrap(dtype, shape, strides, start, data)
    @kept ||= []
    d = Dlx.parse_dtype(dtype)
    shape, strides, memory = numbers(shape), numbers(strides), Fiddle::Pointer[bytes(data)]
    extents, steps = Fiddle::Pointer[shape.pack('q*')], Fiddle::Pointer[strides.pack('q*')]
    @kept << memory << extents << steps
    description = [memory.to_i + Integer(start), 1, 0, shape.size, d[:code], d[:bits], d[:lanes],
                   extents.to_i, steps.to_i, 0].pack('JlllCCSJJQ')
    Dlx::Tensor.make(:dlx_tensor_wrap, description, 0, nil, nil)
  end

  def self.step(t, verb, w)
    case verb
    when 'tensor' then tensor(*w)
    when 'wrap' then wrap(*w)
    when 'foreign' then Dlx::Tensor.from_dlpack(Foreign.make(w[0], numbers(w[1])))
    when 'permute' then w.empty? ? t.transpose : t.permute(numbers(w[0]))
    when 'slice' then t.slice(Integer(w[0]), open(w[1]), open(w[2]), Integer(w[3]))
    when 'select' then t.select(Integer(w[0]), Integer(w[1]))
    when 'squeeze' then t.squeeze(w.map { |axis| Integer(axis) })
    when 'expand_dims' then t.expand_dims(Integer(w[0]))
    when 'broadcast_to' then t.broadcast_to(numbers(w[0]))
    when 'bitcast', 'to_device' then t.send(verb, w[0])
    when 'as_readonly' then t.as_readonly
    when 'contiguous' then t.contiguous(**how(w))
    when 'clone' then t.copy
    when 'reshape' then t.reshape(numbers(w[0]), copy: how(w)[:copy])
    when 'dlpack' then Dlx::Tensor.from_dlpack(t.to_dlpack)
    when 'legacy' then Dlx::Tensor.from_legacy_dlpack(t.to_legacy_dlpack)
    when 'copy_from' then t.copy_from(tensor(*w))
    else raise "no operation #{verb}"
    end
  end

  def self.outcome(operations)
    t = nil
    operations.each do |line|
      verb, *words = line.split
      return ["is #{Dlx.send(verb, words[0]).values.join(' ')}"] if verb.start_with?('parse_')

      t = step(t, verb, words)
    end
    data = t.bytes.unpack1('H*')
    ["dtype #{t.dtype}", "shape #{list(t.shape)}", "strides #{list(t.strides)}", "readonly #{t.readonly? ? 1 : 0}",
     "bytes #{data.empty? ? '-' : data}"]
  rescue Dlx::Error => e
    ["error #{e.status} #{e.message}"]
  end

  File.read(FILE).strip.split("\n\n").select { |part| part.start_with?('case ') }.each do |part|
    name, *lines = part.split("\n")
    checks, operations = lines.partition { |line| CHECKS.include?(line.split[0]) }
    define_method("test_#{name}") do
      assert_equal checks, TestConformance.outcome(operations)
      assert_equal 1, Foreign.deleted if operations[0].start_with?('foreign') && checks[0].start_with?('error')
    end
  end
end

# Ownership, elements and bad input.
class TestTensor < Minitest::Test
  def fails(code, &) = assert_equal("DLX_ERROR_#{code}", assert_raises(Dlx::Error, &).code)

  def test_the_last_user_releases_once
    t = Dlx::Tensor.from_dlpack(foreign = Foreign.make('minor', [0]))
    view = t.transpose
    managed = view.to_dlpack
    2.times { t.close }
    view.close
    assert_equal 0, Foreign.deleted(foreign)
    Dlx::Tensor.from_dlpack(managed).close
    assert_equal 1, Foreign.deleted(foreign)
  end

  def test_elements
    %w[int8 uint16 int64 float32 float64].each do |dtype|
      t = Dlx::Tensor.from([1, 2, 3, 4, 5, 6], [2, 3], dtype)
      t.transpose[2, 1] = 9
      assert_equal 9, t[1, 2]
      assert_equal [1, 4, 2, 5, 3, 9], t.transpose.to_a
    end
    assert_equal 'Tensor(float32, [2], cpu)', Dlx::Tensor.from([1, 2]).to_s
  end

  # Counts its calls.
  class Deleter < Fiddle::Closure
    attr_reader :calls

    def initialize = super(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP])
    def call(data, user_data) = (@calls ||= []) << [data.to_i, user_data.to_i] && nil
  end

  def test_memory_of_c
    deleter = Deleter.new
    memory = Fiddle::Pointer.malloc(24, Fiddle::RUBY_FREE)
    memory[0, 24] = [0, 1, 2, 3, 4, 5].pack('f*')
    t = Dlx::Tensor.wrap(memory.to_i, [2, 3], strides: [1, 2], deleter: deleter.to_i, user_data: 7)
    view = t.transpose
    t.close
    view[2, 1] = 9
    assert_equal [9.0], memory[20, 4].unpack('f')
    assert_nil deleter.calls
    view.close
    assert_equal [[memory.to_i, 7]], deleter.calls
    free = Fiddle::Handle::DEFAULT['free']
    100.times do
      owned = Fiddle::Handle::DEFAULT['malloc']
      owned = Fiddle::Function.new(owned, [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP).call(24).to_i
      Dlx::Tensor.from_dlpack(Dlx::Tensor.wrap(owned, [6], readonly: true, deleter: free).to_dlpack).close
    end
    [{ shape: [-1] }, { shape: [6], strides: [1, 1] }, { shape: [6], deleter: 'free' }].each do |how|
      assert_raises(Dlx::Error) do
        Dlx::Tensor.wrap(memory.to_i, how.delete(:shape), deleter: deleter.to_i, **how)
      end
    end
    assert_equal 1, deleter.calls.size
  end

  def test_threads
    t = Dlx::Tensor.from([1, 2, 3, 4, 5, 6], [2, 3])
    threads = Array.new(4) do |i|
      Thread.new do
        200.times do
          t.select(0, i % 2).close
          e = assert_raises(Dlx::Error) { t.select(0, 100 + i) }
          assert_includes e.message, "got #{100 + i}"
        end
      end
    end
    threads.each(&:join)
  end

  def test_bad_input_is_an_error
    t = Dlx::Tensor.from([1, 2, 3, 4, 5, 6], [2, 3])
    columns, readonly = t.transpose, t.as_readonly
    [-> { t.permute([0]) }, -> { t.permute('x') }, -> { t.select('x', 0) }, -> { t.select(2**40, 0) },
     -> { t.select(0, 2**70) }, -> { t.bitcast('float31') }, -> { t.bitcast("float32\0") }, -> { t.bitcast(nil) },
     -> { t.contiguous(copy: :sometimes) }, -> { Dlx::Tensor.from([1, 2], [3]) }, -> { Dlx::Tensor.from_dlpack(0) },
     -> { Dlx::Tensor.from_dlpack(nil) }, -> { Dlx::Tensor.from([1], [1], 'bfloat16') }, -> { t.copy_from(1) },
     -> { Dlx::Tensor.from('abc') },
     -> { t.reshape([1.5]) }].each { |call| fails('INVALID_ARGUMENT', &call) }
    assert_raises(IndexError) { t[2, 0] }
    assert_raises(IndexError) { t[0] }
    fails('COPY_REFUSED') { columns.contiguous(copy: :never) }
    fails('READ_ONLY') { readonly[0, 0] = 1 }
    fails('READ_ONLY') { readonly.copy_from(t) }
    assert_raises(NoMethodError) { t.dup }
    assert_raises(NoMethodError) { Dlx::Tensor.new(1) }
    t.close
    %i[transpose to_dlpack bytes shape].each { |use| fails('INVALID_ARGUMENT') { t.send(use) } }
    assert_equal 'Tensor(closed)', t.to_s
  end
end
