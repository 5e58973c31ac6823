package main

import (
	"errors"
	"os/exec"
)

func newGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended

// account does not exist: there is no condition that uses it here.
type account struct{}

func findAccount(string) (*account, error) { return nil, errors.ErrUnsupported }

func (*account) own(string) error { return errors.ErrUnsupported }

func (*account) use(*exec.Cmd) {}
