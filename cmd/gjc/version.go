package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// release is the version of a released binary; the linker sets it. A "v" before it does not count.
var release string

func version() string {
	if release != "" {
		return strings.TrimPrefix(release, "v")
	}
	info, _ := debug.ReadBuildInfo()
	return builtVersion(info)
}

// pseudo matches the versions that the go command makes for commits without a tag: the next release, the time, the commit.
var pseudo = lazyregexp.New(`^v(\d+\.\d+\.\d+)-(?:.+\.)?\d{14}-([0-9a-f]{12})$`)

// builtVersion returns the version of a program that "go install" or "go build" made: that of its tag, or else one that comes
// before the next release and names the commit, as 0.1.1-dev+g0123456789ab.dirty.
func builtVersion(info *debug.BuildInfo) string {
	if info == nil {
		return "0.0.0-dev"
	}
	next, commit := "0.0.0", ""
	tag, dirty := strings.CutSuffix(info.Main.Version, "+dirty")
	if m := pseudo().FindStringSubmatch(tag); m != nil {
		next, commit = m[1], m[2]
	} else if tag != "" && tag != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = cmp.Or(commit, s.Value[:min(12, len(s.Value))])
		case "vcs.modified":
			dirty = dirty || s.Value == "true"
		}
	}
	text := next + "-dev"
	if commit != "" {
		text += "+g" + commit
		if dirty {
			text += ".dirty"
		}
	}
	return text
}

func newVersion(h *host) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { return printVersion(h) },
	}
}

func printVersion(h *host) error {
	_, err := fmt.Fprintf(h.stdout, "gjc %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
