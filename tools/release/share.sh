#!/bin/sh
# Makes what packages hold besides the program, in bin/share: manual pages and completions of the version $1. goreleaser runs
# it first, and finds the program that writes the bills of materials in bin/tools.
set -eu
cd "$(dirname "$0")/../.."
rm -rf bin/share
mkdir -p bin/share/man bin/share/man-gz bin/share/completions bin/tools
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.release=$1" -o bin/tools/gjc ./cmd/gjc
bin/tools/gjc man bin/share/man
for page in bin/share/man/*.1; do
  gzip -9n <"$page" >"bin/share/man-gz/${page##*/}.gz"
done
bin/tools/gjc completion bash >bin/share/completions/gjc.bash
bin/tools/gjc completion zsh >bin/share/completions/_gjc
bin/tools/gjc completion fish >bin/share/completions/gjc.fish
bin/tools/gjc completion powershell >bin/share/completions/gjc.ps1
go build -modfile=tools/release/go.mod -o bin/tools/cyclonedx-gomod github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
