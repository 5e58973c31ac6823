// Command pack makes what goreleaser does not, from the programs and archives that it has made: the npm packages, the Homebrew
// formula and the container image. The same release gives the same bytes.
//
//	go run ./cmd/pack npm
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

const usage = `usage: pack [flags] npm|formula|image

  npm      write the npm packages into DIST/npm
  formula  write the Homebrew formula DIST/gjc.rb
  image    write the container image DIST/image, an OCI layout
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "pack:", err)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage, "\n")
		flags.PrintDefaults()
	}
	dist := flags.String("dist", filepath.Join("bin", "release"), "goreleaser's directory")
	partial := flags.Bool("partial", false, "accept a release without all platforms, for a test")
	certificates := flags.String("certificates", "/etc/ssl/certs/ca-certificates.crt", "the certificate authorities of the image")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := readRelease(*dist, "LICENSE")
	if err != nil {
		return err
	}
	if !*partial {
		if err := r.complete(); err != nil {
			return err
		}
	}
	switch what := flags.Arg(0); {
	case flags.NArg() != 1:
		flags.Usage()
		return flag.ErrHelp
	case what == "npm":
		return writeNPM(r, filepath.Join(*dist, "npm"))
	case what == "formula":
		return writeFormula(r, filepath.Join(*dist, "gjc.rb"))
	case what == "image":
		return writeImage(r, *certificates, filepath.Join(*dist, "image"))
	default:
		return fmt.Errorf("unknown package %q: give npm, formula or image", what)
	}
}
