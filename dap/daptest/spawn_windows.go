package daptest

import "errors"

func spawn() error { return errors.ErrUnsupported }
