package instructions

import (
	"context"
	"path/filepath"

	"github.com/gajae-code/gjc/agent/userfiles"
)

// System returns the text of a file that changes gjc's own prompts, such as [userfiles.SystemFile]: the nearest in .gjc of the working
// directory and its parents, or that of the agent directory. Items has all that exist, and Text the one that is used.
func System(ctx context.Context, opts *Options, name string) (content string, set *Set) {
	l := &loader{Options: opts, set: new(Set), reals: make(map[string]string), texts: make(map[string]string), alone: true}
	used := ""
	end := func() {
		it := &l.set.Items[len(l.set.Items)-1]
		it.Kind, it.Name = userfiles.System, name
		switch {
		case it.State != userfiles.Used:
		case used != "":
			it.State, it.Why, it.Text = userfiles.Shadowed, "by "+used, ""
		default:
			used, content = it.Path, it.Text
		}
	}
	dirs, top := l.upwards(ctx, opts.Cwd, true)
	for _, dir := range dirs {
		item := Item{base: dir, File: userfiles.File{Origin: "gjc", Path: filepath.Join(dir, ".gjc", name)}}
		info, err := opts.Files.Stat(ctx, item.Path)
		if err != nil {
			n := len(l.set.Items)
			if l.dangling(&item); len(l.set.Items) > n {
				end()
			}
			continue
		}
		item.real = opts.Files.RealPath(item.Path)
		if top != "" {
			item.base = top
		}
		if why := l.outside(&item, dir, top); why != "" {
			l.refuse(&item, why)
		} else if !info.Mode().IsRegular() {
			l.refuse(&item, "is not a regular file")
		} else {
			l.add(ctx, &item, info.Size(), 0)
		}
		end()
	}
	if opts.UserDir != "" {
		n := len(l.set.Items)
		p := userfiles.Place{Source: userfiles.Source{Origin: "gjc", Kind: userfiles.System}, Root: opts.UserDir, Dir: name}
		l.user(ctx, &p)
		if len(l.set.Items) > n {
			end()
		}
	}
	return content, l.set
}
