//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestCredentialProcess(t *testing.T) {
	testenv.NoLeaks(t)
	dir := t.TempDir()
	h := &host{env: []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "ACCOUNT=a b"}}
	out, err := h.credentialProcess(t.Context(), `printf '{"AccessKeyId":"%s"}' "$ACCOUNT"`)
	if err != nil || string(out) != `{"AccessKeyId":"a b"}` {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := h.credentialProcess(t.Context(), `echo secret; exit 3`); err == nil || !strings.Contains(err.Error(), "code 3") || out != nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := h.credentialProcess(t.Context(), `head -c 1000000 /dev/zero`); err != nil || len(out) != maxCredentials {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user left")
	cancel(cause)
	if _, err := h.credentialProcess(ctx, "sleep 1000"); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
