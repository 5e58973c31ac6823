package main

import (
	"fmt"
	"os"
	"strings"
)

// writeFormula writes the Homebrew formula. goreleaser's own formulas are deprecated in favour of casks, which are for programs
// with windows.
func writeFormula(r *release, path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by cmd/pack of %s; do not edit.\n", repository)
	fmt.Fprintf(&b, "class Gjc < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"MIT\"\n", description, repository, r.version)
	for _, system := range []struct{ goos, block string }{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		some := r.has(system.goos)
		if len(some) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n  %s do\n", system.block)
		for _, t := range some {
			block := "on_arm"
			if t.arch == "amd64" {
				block = "on_intel"
			}
			a := r.archives[t]
			fmt.Fprintf(&b, "    %s do\n      url \"%s/releases/download/v%s/%s\"\n      sha256 %q\n    end\n", block, repository, r.version, a.name, a.sha256)
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "gjc"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/gjc.bash" => "gjc"
    zsh_completion.install "completions/_gjc"
    fish_completion.install "completions/gjc.fish"
  end

  test do
    assert_match "gjc #{version} ", shell_output("#{bin}/gjc version")
  end
end
`)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
