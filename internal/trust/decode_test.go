package trust

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamePath(t *testing.T) {
	for _, tt := range []struct {
		goos, a, b string
		want       bool
	}{
		{"linux", "/w", "/w", true},
		{"linux", "/w", "/W", false},
		{"darwin", "/w", "/W", false}, // one question too many is better than one too few
		{"windows", `C:\w`, `c:\W`, true},
		{"windows", `C:\w`, `C:/w`, true},
		{"windows", `C:\w`, `D:\w`, false},
	} {
		if got := samePath(tt.a, tt.b, tt.goos); got != tt.want {
			t.Errorf("%s: %s and %s: %v", tt.goos, tt.a, tt.b, got)
		}
	}
}

// Whatever the file contains, the decoded entries are valid answers and survive a round trip.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"workspaces":[{"path":"/w","state":"trusted","when":"2026-01-02T03:04:05Z","files":[{"name":"lsp.json","sha256":"00"}],"programs":true}]}`))
	f.Add([]byte(`{"version":1,"workspaces":[{"path":"/w","state":"","when":"2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte(`{"version":2,"workspaces":[{"path":"/w","state":"trusted","when":"2026-01-02T03:04:05Z","files":[{"name":"lsp.json","sha256":"00","state":"denied"}],"programs":true,"programsState":"denied"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decode(data)
		if err != nil {
			if list != nil {
				t.Error("a list with an error")
			}
			return
		}
		for _, e := range list {
			if e.Path == "" || e.State != Trusted && e.State != Denied {
				t.Errorf("%+v", e)
			}
		}
		text, err := encode(list)
		if err != nil {
			return // a time that JSON cannot represent
		}
		again, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, again); diff != "" && len(list)+len(again) > 0 {
			for i := range list {
				if len(list[i].Files) > 0 || len(again[i].Files) > 0 {
					t.Errorf("(-first +second):\n%s", diff)
				}
			}
		}
	})
}
