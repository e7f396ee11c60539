# frozen_string_literal: true

require_relative 'lib/dlx/version'

Gem::Specification.new do |spec|
  spec.name = 'dlx'
  spec.version = Dlx::VERSION
  spec.summary = 'Tensors shared between libraries and languages without copies, by DLPack'
  spec.description = 'libdlx for Ruby, by Fiddle: imports and exports tensors of other libraries, and makes views and copies.'
  spec.authors = ['The dlx authors']
  spec.license = 'Apache-2.0'
  spec.required_ruby_version = '>= 3.0'
  spec.files = Dir['lib/**/*.rb'] + %w[LICENSE README.md]
end
