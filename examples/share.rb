# dlx from Ruby: share a matrix by DLPack. Run: ruby -I .../bindings/ruby/lib share.rb
require 'dlx'

matrix = Dlx::Tensor.from([0, 1, 2, 3, 4, 5], [2, 3])
begin
  matrix.select(0, 9)
rescue Dlx::Error => e
  puts e.message
end
columns = matrix.transpose # a view
managed = columns.to_dlpack # for any library that takes DLPack
[matrix, columns].each(&:close) # `managed` keeps the memory

taken = Dlx::Tensor.from_dlpack(managed)
puts "(#{taken.shape.join(', ')}): #{taken.to_a.map(&:to_i).join(' ')}"
taken.close
