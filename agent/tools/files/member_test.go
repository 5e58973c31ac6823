package files_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// A call on a member of an archive declares the member's name with the archive.
func TestMember_H6Effects(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"e.zip": zipOf(t, member{".env", "KEY=1\n"}), "e.tar": tarOf(t, member{".env", "KEY=1\n"}), "t.db": "text"})
	for _, tt := range []struct {
		tool, path string
		action     approval.Action
		file, want string
	}{
		{"read", "e.zip:.env", approval.ActionRead, "e.zip", ".env"},
		{"read", "e.zip:.env:1-2", approval.ActionRead, "e.zip", ".env:1-2"},
		{"read", "e.tar:a/b.zip:.env", approval.ActionRead, "e.tar", "a/b.zip:.env"},
		{"read", "e.zip", approval.ActionRead, "e.zip", ""},
		{"read", "t.db:users", approval.ActionRead, "t.db", ""},
		{"write", "e.zip:a/../.env", approval.ActionEdit, "e.zip", ".env"},
		{"write", "new.tgz:.env", approval.ActionEdit, "new.tgz", ".env"},
	} {
		in := toolstest.Input{"path": tt.path}
		if tt.tool == "write" {
			in["content"] = "x"
		}
		p := toolstest.MustPlan(t, w, tt.tool, in)
		want := []approval.Effect{{Action: tt.action, Path: w.Path(tt.file), Member: tt.want}}
		if diff := cmp.Diff(want, p.Effects); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.path, diff)
		}
	}
}

// A read returns what was judged, even if the path means something else when it runs.
func TestMember_H6ChangedMeaning(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.zip": "not an archive\n"})
	call := w.Call(t, "read", toolstest.Input{"path": "b.zip:id_rsa"})
	tool := toolstest.Tool(t, "read")
	p, err := toolstest.Plan(t.Context(), tool, call)
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Same(t, "path", p.Effects[0].Path, w.Path("b.zip:id_rsa"))
	w.Put(t, "b.zip", zipOf(t, member{"id_rsa", "PRIVATE\n"}))
	if res, err := toolstest.RunPlanned(t.Context(), tool, call, p); err == nil {
		t.Errorf("it read %q", res.Text)
	}
}
