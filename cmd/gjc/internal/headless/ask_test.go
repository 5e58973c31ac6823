package headless

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// Each question gets one line, also if several were typed at once or an earlier question was cancelled; the end of the input is a no.
func TestAsker(t *testing.T) {
	question := &acp.RequestPermissionRequest{Options: []acp.PermissionOption{
		{OptionID: "yes", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "allow_workspace", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "no", Kind: acp.PermissionOptionKindRejectOnce},
	}}
	in, typed := io.Pipe()
	a := &Asker{In: in, Out: io.Discard}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the turn is over")
	cancel(cause)
	if _, err := a.Approve(ctx, question); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	go func() { // ends with the input
		_, _ = io.WriteString(typed, "y\n W \nperhaps\n")
		_ = typed.Close()
	}()
	for i, want := range []acp.PermissionOptionID{"yes", "allow_workspace", "no", "no", "no"} {
		if got, err := a.Approve(t.Context(), question); got != want || err != nil {
			t.Errorf("question %d: %q, %v", i, got, err)
		}
	}
}
