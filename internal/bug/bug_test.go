package bug_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/bug"
)

func TestReportf_PanicsWithoutHandler(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, "no such state: 7") {
			t.Errorf("panic = %q", got)
		}
	}()
	bug.Reportf("no such state: %d", 7)
	t.Error("Reportf returned")
}

func TestErrorf_TellsTheHandlerOncePerSite(t *testing.T) {
	var got []bug.Report
	bug.Handle(func(r bug.Report) { got = append(got, r) })
	defer bug.Handle(nil)
	before := bug.Count()
	for range 3 {
		if err := bug.Errorf("torn: %w", io.EOF); !errors.Is(err, io.EOF) {
			t.Fatalf("err = %v", err)
		}
	}
	if len(got) != 1 || !strings.Contains(got[0].Site, "bug_test.go:") || !strings.Contains(got[0].Stack, "goroutine") {
		t.Errorf("reports = %+v, want one, with this file and a stack", got)
	}
	if n := bug.Count() - before; n != 3 {
		t.Errorf("count = %d, want 3", n)
	}
}
