# frozen_string_literal: true

module Dlx
  # A function of C that takes the tensors that fit its contract (dlx/call.h).
  class Function
    # A parameter of a contract.
    Parameter = Struct.new(:name, :kind, :optional, :result, :default) do
      def passed? = !result && kind != Raw::DLX_PARAMETER_STREAM
    end
    private_constant :Parameter

    # What the kinds of parameters take, in the order of DLX_PARAMETER_*.
    TAKES = ['a tensor', 'an integer', 'a number', 'true or false', 'a string without zero bytes'].freeze

    attr_reader :name

    # A function of a shared library, which stays loaded.
    def self.load(library, name, contract)
      @libraries = (@libraries || {}).merge(library => Fiddle.dlopen(library))
      new(@libraries[library][name], contract)
    end

    # The dlx_function at an address, and its contract: 'blur(image: uint8[h, w], out: uint8[h, w] result)'.
    # A wrong address crashes, as in C.
    def initialize(address, contract)
      Library.invalid('dlx: not an address of a function') unless address.is_a?(Integer) && !address.zero?
      @address = address
      @contract = Library.made(:dlx_contract_create, Library.name(contract, 'contract'))
      ObjectSpace.define_finalizer(self, self.class.releaser(@contract))
      @name = Library.text(:dlx_contract_name, @contract)
      @parameters = Array.new(Library.call(:dlx_contract_count, @contract)) { |index| parameter(index) }
    end

    # Calls the function: nil is a default. Returns a tensor, nil, or an array if the contract has several results.
    def call(*given)
      passed = @parameters.count(&:passed?)
      wrong("it takes #{passed} arguments (got #{given.size})") if given.size > passed

      texts = [] # alive until the call returns
      rest = given.dup
      tensors, values = @parameters.map { |parameter| read(parameter, rest, texts) }.transpose
      results = run(tensors || [], values || [])
      results.size > 1 ? results : results.first
    end

    def inspect = "Function(#{name})"

    def self.releaser(contract) = proc { Library.call(:dlx_contract_release, contract) }

    private

    def parameter(index)
      out = [40].pack('L') + "\0" * 36
      Library.check(:dlx_contract_parameter, @contract, index, out)
      _, kind, flags, name = out.unpack('LlQJ')
      is = ->(flag) { flags.anybits?(flag) }
      Parameter.new(Fiddle::Pointer.new(name).to_s, kind, is[Raw::DLX_PARAMETER_OPTIONAL],
                    is[Raw::DLX_PARAMETER_RESULT], out[32, 8])
    end

    # The tensor and the value of a parameter; `rest` has the arguments from it on.
    def read(parameter, rest, texts)
      return [0, "\0" * 8] unless parameter.passed?

      argument = rest.shift
      return convert(parameter, argument, texts) unless argument.nil?

      wrong("`#{parameter.name}` is missing") unless parameter.optional
      [0, parameter.default]
    end

    def convert(parameter, argument, texts)
      case [parameter.kind, argument]
      in [0, Tensor] then [argument.handle, "\0" * 8]
      in [1, Integer] then [0, [Library.integer(argument, parameter.name)].pack('q')]
      in [2, Integer | Float] then [0, [argument].pack('d')]
      in [3, true | false] then [0, [argument ? 1 : 0].pack('q')]
      in [4, String] unless argument.include?("\0")
        texts << Fiddle::Pointer["#{argument}\0"]
        [0, [texts.last.to_i].pack('J')]
      else wrong("`#{parameter.name}` is not #{TAKES[parameter.kind]}")
      end
    end

    def run(tensors, values)
      count = @parameters.count(&:result)
      out = [0].pack('J') * (count + 1)
      Library.check(:dlx_contract_call, @contract, @address, nil, tensors.pack('J*'), values.join, out)
      out.unpack("J#{count}").map { |owned| Tensor.adopt(owned) }
    end

    def wrong(words) = Library.invalid("#{name}: #{words}")
  end
end
