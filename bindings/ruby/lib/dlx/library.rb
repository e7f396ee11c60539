# frozen_string_literal: true

module Dlx
  # A failed call: `code` is the name of its status, the message has dlx's words.
  class Error < StandardError
    attr_reader :status

    def initialize(status, message)
      super(message)
      @status = status
    end

    def code = Library.text(:dlx_status_name, status)
  end

  # The functions of libdlx, and errors.
  module Library
    HANDLE = begin
      Fiddle.dlopen(ENV.fetch('DLX_LIBRARY', 'libdlx.so.1'))
    rescue Fiddle::DLError => e
      raise LoadError, "dlx: libdlx.so.1 was not found (LD_LIBRARY_PATH, or DLX_LIBRARY): #{e.message}"
    end
    CALLS = Raw::FUNCTIONS.to_h do |name, (result, parameters)|
      [name, Fiddle::Function.new(HANDLE[name.to_s], parameters, result)]
    end.freeze

    module_function

    def call(name, *values) = CALLS.fetch(name).call(*values)

    # The result of a function that returns text.
    def text(name, *values) = call(name, *values).to_s

    # Calls a function that returns a status.
    def check(name, *values)
      status = call(name, *values)
      raise Error.new(status, text(:dlx_last_error).force_encoding('UTF-8')) unless status.zero?
    end

    # The address that a function writes into its last parameter.
    def made(name, *values)
      out = [0].pack('J')
      check(name, *values, out)
      out.unpack1('J')
    end

    def invalid(message) = raise(Error.new(Raw::DLX_ERROR_INVALID_ARGUMENT, message))

    # An integer that C can take.
    def integer(value, name, bits = 64)
      invalid("dlx: `#{name}` is not an integer: #{value.inspect}") unless value.is_a?(Integer)
      invalid("dlx: `#{name}` is out of range: #{value}") unless value.bit_length < bits
      value
    end

    # Numbers as an array of C.
    def numbers(values, name, format = 'q')
      invalid("dlx: `#{name}` is not an array of integers") unless values.is_a?(Array)
      values.each { |value| integer(value, name, format == 'l' ? 32 : 64) }.pack("#{format}*")
    end

    def name(value, what)
      return value if value.is_a?(String) && !value.include?("\0")

      invalid("dlx: the #{what} is not a string without zero bytes: #{value.inspect}")
    end

    # The text that a call writes into a buffer.
    def written(name, *values)
      buffer = "\0" * Raw::DLX_NAME_SIZE
      check(name, *values, buffer, Raw::DLX_NAME_SIZE)
      buffer[/\A[^\0]*/]
    end

    # The bytes of a DLDataType.
    def dtype(name)
      out = "\0" * 4
      check(:dlx_dtype_parse, name(name, 'dtype'), out)
      out
    end
  end

  class << self
    def version = Library.text(:dlx_version)

    def parse_dtype(name)
      bytes = Library.dtype(name)
      code, bits, lanes = bytes.unpack('CCS')
      { code: code, bits: bits, lanes: lanes, name: Library.written(:dlx_dtype_name, bytes) }
    end

    def parse_device(name)
      type = [0].pack('l')
      id = [0].pack('l')
      Library.check(:dlx_device_parse, Library.name(name, 'device'), type, id)
      type, id = type.unpack1('l'), id.unpack1('l')
      { type: type, id: id, name: Library.written(:dlx_device_name, type, id) }
    end

    def device_count(name) = Library.call(:dlx_device_count, parse_device(name)[:type])
    def device_reason(name) = Library.text(:dlx_backend_reason, parse_device(name)[:type])
  end
end
