//go:build !linux

package config

import "errors"

// executable always fails: this system is not supported.
func executable(int) (string, error) { return "", errors.ErrUnsupported }
