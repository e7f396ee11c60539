# The filters called from Ruby. Run: ruby -I .../bindings/ruby/lib use.rb ./libfilter.so
require 'dlx'

path = ARGV.first
# As filter.h has them.
blur = Dlx::Function.load(path, 'filter_blur_packed',
                          'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)')
brighten = Dlx::Function.load(path, 'filter_brighten_packed',
                              'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)')

image = Dlx::Tensor.from((0...12).map { |i| 10 * i }, [3, 4], 'uint8')
blurred = blur.call(image)
puts blurred.to_a.join(' ')
brighten.call(image.slice(1, 3)) # the last column, in place
puts image.to_a.join(' ')

[[image.reshape([12])], [image, -1]].each do |wrong|
  blur.call(*wrong)
rescue Dlx::Error => e
  puts e.message
end

managed = blurred.to_dlpack # for any library that takes DLPack
blurred.close # `managed` keeps the memory
taken = Dlx::Tensor.from_dlpack(managed)
puts "(#{taken.shape.join(', ')}): #{taken.select(0, 0).to_a.join(' ')}"
taken.close
