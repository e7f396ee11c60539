# frozen_string_literal: true

# Tensors shared between libraries and languages, by DLPack. README.md has an example.
require_relative 'dlx/version'
require_relative 'dlx/generated'
require_relative 'dlx/library'
require_relative 'dlx/tensor'
require_relative 'dlx/function'
