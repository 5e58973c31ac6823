package main

import (
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/trust"
)

// hooksOf returns a function that makes a session's reader of hooks.
func hooksOf(agentDir string) func(roots []string) func() *hooks.Set {
	store := trust.Open(trustFile(agentDir))
	return func(roots []string) func() *hooks.Set {
		answers := trust.NewSession(store)
		return func() *hooks.Set {
			return hooks.Load(hooks.Options{UserDir: agentDir, Roots: roots, Trust: answers})
		}
	}
}
