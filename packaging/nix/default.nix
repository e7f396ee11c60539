# nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:

let
  root = ../..;
  header = builtins.readFile (root + "/include/dlx/dlx.h");
  number = name: builtins.head (builtins.match ".*define DLX_VERSION_${name} ([0-9]+).*" header);
in
pkgs.stdenv.mkDerivation {
  pname = "dlx";
  version = "${number "MAJOR"}.${number "MINOR"}.${number "PATCH"}";
  src = pkgs.lib.cleanSource root;
  nativeBuildInputs = [ pkgs.cmake ];
  doInstallCheck = true;
  installCheckPhase = "$out/bin/dlx-check --help";
  meta = {
    description = "Exchange tensors between array libraries and languages, on DLPack";
    homepage = "https://dlx.example/dlx";
    license = pkgs.lib.licenses.asl20;
    platforms = pkgs.lib.platforms.linux ++ pkgs.lib.platforms.darwin;
  };
}
