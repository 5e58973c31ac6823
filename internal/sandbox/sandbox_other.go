//go:build !linux

package sandbox

import (
	"errors"
	"runtime"
)

func landlockError() error { return errors.New("there is none for " + runtime.GOOS) }

func seccompError() error { return errUnavailable }

func enter(*Policy, bool, []string, []string) error { return errUnavailable }

func bubblewrap(func(string) (string, error)) (string, bool) { return "", false }

func bubblewrapArgs(*Policy) []string { return nil }
