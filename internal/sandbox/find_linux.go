package sandbox

import "errors"

// check finds what a boundary of the kind needs.
func (s *Sandbox) check(lookPath func(string) (string, error)) error {
	if s.Kind == Landlock {
		return landlockError()
	}
	if err := seccompError(); err != nil {
		return err
	}
	var err error
	if s.bwrap, err = lookPath("bwrap"); err != nil {
		return errors.New("bwrap is not installed")
	}
	return nil
}
