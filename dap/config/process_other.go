//go:build !linux

package config

import "errors"

// executable returns the program of a process.
func executable(int) (string, error) { return "", errors.ErrUnsupported }
