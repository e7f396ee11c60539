# Prints the nanoseconds of an exchange and of a copy. The memory is dlx's.
require 'dlx'

def time(count)
  Array.new(6) do
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    count.times { yield }
    (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) / count * 1e9
  end.min.round
end

exchange = time(2000) do
  tensor = Dlx::Tensor.empty([2, 3])
  managed = tensor.to_dlpack
  tensor.close
  Dlx::Tensor.from_dlpack(managed).close
end
columns = Dlx::Tensor.empty([512, 512]).transpose
packed = Dlx::Tensor.empty([512, 512])
puts "#{exchange} #{time(100) { packed.copy_from(columns) }}"
