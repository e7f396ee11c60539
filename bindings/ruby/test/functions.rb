# frozen_string_literal: true

# Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).
class FunctionTest < Minitest::Test
  BLUR = 'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)'
  BRIGHTEN = 'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)'

  def setup
    skip 'no DLX_FILTER' unless ENV['DLX_FILTER']
    @blur = load('filter_blur_packed', BLUR)
    @brighten = load('filter_brighten_packed', BRIGHTEN)
    @image = Dlx::Tensor.from((0...12).map { |i| 10 * i }, [3, 4], 'uint8')
  end

  def load(name, contract) = Dlx::Function.load(ENV.fetch('DLX_FILTER'), name, contract)

  def refused(words, status = 1, &call)
    error = assert_raises(Dlx::Error, &call)
    assert_equal [words, status], [error.message, error.status]
  end

  def test_results_are_tensors
    assert_equal [25, 30, 40, 45, 45, 50, 60, 65, 65, 70, 80, 85], @blur.call(@image).to_a
    assert_equal @image.to_a, @blur.call(@image, 0).to_a
    assert_equal 'Function(blur)', @blur.inspect
  end

  def test_arguments_are_written
    assert_nil @brighten.call(@image.slice(1, 3))
    assert_equal [0, 10, 20, 45, 40, 50, 60, 105, 80, 90, 100, 165], @image.to_a
    @brighten.call(@image, 0)
    assert_equal [0] * 12, @image.to_a
    refused('brighten: `image` is written to, and the array is read-only', 6) { @brighten.call(@image.as_readonly) }
  end

  def test_what_does_not_fit_is_an_error
    refused('blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))') { @blur.call(@image.reshape([12])) }
    refused('blur: `radius` is negative (got -1)') { @blur.call(@image, -1) }
    refused('blur: `image` is missing') { @blur.call }
    refused('blur: it takes 2 arguments (got 3)') { @blur.call(@image, 1, 2) }
    refused('blur: `radius` is not an integer') { @blur.call(@image, 1.5) }
    refused('blur: `image` is not a tensor') { @blur.call([1]) }
    refused('brighten: `factor` is not a number') { @brighten.call(@image, '2') }
    refused('dlx: `radius` is out of range: 9223372036854775808') { @blur.call(@image, 2**63) }
    @image.close
    refused('dlx: the tensor is closed') { @blur.call(@image) }
    assert_raises(Dlx::Error) { load('filter_blur_packed', 'blur(image: uint9[h])') }
    assert_raises(Dlx::Error) { Dlx::Function.new(0, 'f()') }
    assert_raises(Fiddle::DLError) { load('no_such_symbol', 'f()') }
  end
end
