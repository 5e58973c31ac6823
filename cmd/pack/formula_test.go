package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// brew evaluates a formula for each platform, as Homebrew does, and prints what it would download.
const brew = `
require "json"
$found = {}
class Formula
  class << self
    def on(key, value)
      was, @at = @at, (@at || []) + [value]
      yield
      @at = was
    end
    def on_macos(&b) = on(:os, "darwin", &b)
    def on_linux(&b) = on(:os, "linux", &b)
    def on_arm(&b) = on(:arch, "arm64", &b)
    def on_intel(&b) = on(:arch, "amd64", &b)
    def url(u) = ($found[@at.join("/")] ||= [])[0] = u
    def sha256(s) = ($found[@at.join("/")] ||= [])[1] = s
    def version(v) = $version = v
    def desc(_) = nil
    def homepage(_) = nil
    def license(_) = nil
    def test = nil
  end
end
load ARGV[0]
puts JSON.generate({"class" => Gjc.superclass.name, "version" => $version, "install" => Gjc.method_defined?(:install), "found" => $found})
`

func TestFormula(t *testing.T) {
	t.Parallel()
	ruby := testenv.NeedsTool(t, "ruby")
	r, dir := fakeRelease(t, targets...), t.TempDir()
	formula, script := filepath.Join(dir, "gjc.rb"), filepath.Join(dir, "brew.rb")
	if err := writeFormula(r, formula); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(brew), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), ruby, "-wc", formula).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), ruby, script, formula).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type evaluated struct {
		Class, Version string
		Install        bool
		Found          map[string][]string
	}
	var got evaluated
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := evaluated{Class: "Formula", Version: "1.2.3", Install: true, Found: make(map[string][]string)}
	for _, to := range targets[:4] {
		a := r.archives[to]
		want.Found[to.os+"/"+to.arch] = []string{fmt.Sprintf("%s/releases/download/v1.2.3/gjc-%s-%s.tar.gz", repository, to.os, to.arch), a.sha256}
	}
	diff(t, "formula", got, want)
}
