//go:build !linux

package config

import "errors"

// executable always fails on this system.
func executable(int) (string, error) { return "", errors.ErrUnsupported }
