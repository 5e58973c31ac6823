package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/archive"
	"github.com/gajae-code/gjc/internal/text"
)

// maxMembers bounds the number of members of an archive that are listed.
const maxMembers = 500

// readArchive returns the result of read for an archive, or for the member that a path names in it.
func readArchive(ctx context.Context, call *agent.Call, f agent.OpenFile, name string, t *target) (*agent.Result, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	a, err := archive.Open(f, info.Size())
	if errors.Is(err, archive.ErrFormat) {
		return nil, errNotContainer
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	member := strings.TrimPrefix(t.inner, ":")
	// An existing member named "a:3" has precedence over line 3 of "a".
	data, err := memberData(ctx, a, member)
	sel := toolkit.Selector{}
	if errors.Is(err, fs.ErrNotExist) {
		base, s, serr := splitMember(member)
		switch {
		case serr != nil:
			return nil, serr
		case base != member:
			member, sel = base, s
			data, err = memberData(ctx, a, member)
		}
	}
	shown := name + ":" + member
	switch {
	case errors.Is(err, fs.ErrInvalid):
		return listArchive(ctx, a, name, member)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s has no member %s%s: %w", name, toolkit.ShownName(member), nearMember(ctx, a, member), fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", shown, err)
	}
	return showData(ctx, call, shown, data, sel)
}

// splitMember splits a member's path from its selector; the path may be empty.
func splitMember(member string) (base string, sel toolkit.Selector, err error) {
	base, sel, err = toolkit.SplitSelector("/" + member)
	return strings.TrimPrefix(base, "/"), sel, err
}

// memberData is like [archive.Archive.ReadFile], with an empty name for the archive's root.
func memberData(ctx context.Context, a *archive.Archive, member string) ([]byte, error) {
	if archive.Clean(member) == "" {
		return nil, fs.ErrInvalid
	}
	return a.ReadFile(ctx, member, toolkit.MaxReadFile)
}

func listArchive(ctx context.Context, a *archive.Archive, name, dir string) (*agent.Result, error) {
	entries, total, err := a.List(ctx, dir, maxMembers)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var b strings.Builder
	b.WriteString(name)
	if dir != "" {
		b.WriteString(":" + toolkit.ShownName(strings.TrimSuffix(dir, "/")) + "/")
	}
	if total == 0 && err == nil {
		return &agent.Result{Text: b.String() + " is empty"}, nil
	}
	fmt.Fprintf(&b, " (%s, %s)\n", a.Kind, text.Count(total, "member"))
	var notes []string
	for i, e := range entries {
		if b.Len() > toolkit.MaxText {
			entries = entries[:i]
			break
		}
		b.WriteString("  " + toolkit.CutLine(toolkit.ShownName(e.Name), toolkit.MaxColumns))
		switch {
		case e.Dir():
		case e.Link != "":
			b.WriteString(" -> " + toolkit.CutLine(toolkit.ShownName(e.Link), toolkit.MaxColumns))
		case e.Encrypted:
			b.WriteString("  " + toolkit.Size(e.Size) + ", encrypted")
		default:
			b.WriteString("  " + toolkit.Size(e.Size))
		}
		b.WriteByte('\n')
	}
	if left := total - len(entries); left > 0 {
		notes = append(notes, fmt.Sprintf("%d more; read %s:some/directory/ to list a part", left, name))
	}
	if err != nil {
		notes = append(notes, "The list ends here: "+toolkit.Reason(err).Error()+".")
	}
	return &agent.Result{Text: toolkit.JoinNotes(b.String(), notes)}, nil
}

// nearMember suggests members that the caller may have meant.
func nearMember(ctx context.Context, a *archive.Archive, member string) string {
	entries, _, _ := a.List(ctx, "", 20_000) // partial results are good enough
	want := strings.ToLower(archive.Clean(member))
	base := want[strings.LastIndexByte(want, '/')+1:]
	for _, same := range []func(name string) bool{
		func(name string) bool { return strings.HasSuffix("/"+name, "/"+want) },
		func(name string) bool { return strings.HasSuffix("/"+name, "/"+base) },
		func(name string) bool { return toolkit.CloseNames(name[strings.LastIndexByte(name, '/')+1:], base) },
	} {
		for _, e := range entries {
			if !e.Dir() && same(strings.ToLower(archive.Clean(e.Name))) {
				return "; did you mean " + toolkit.ShownName(e.Name) + "?"
			}
		}
	}
	return ""
}
