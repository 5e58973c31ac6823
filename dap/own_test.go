package dap_test

import (
	"context"
	"testing"

	"github.com/gajae-code/gjc/internal/permit"
)

// own returns the context of a test, with the permit of gjc's own work.
func own(t testing.TB) context.Context { return permit.With(t.Context(), permit.Own()) }
