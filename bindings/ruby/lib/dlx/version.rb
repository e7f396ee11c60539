# frozen_string_literal: true

module Dlx
  VERSION = '0.1.0'
end
