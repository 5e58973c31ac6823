//go:build !linux && !darwin

package sandbox

// kinds are those of this system.
var kinds []Kind

func (s *Sandbox) check(func(string) (string, error)) error { return errSystem }
