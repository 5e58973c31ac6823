package conformance

import (
	"bytes"
	"os"
	"os/exec"
)

func exitDefects() []defect {
	all := []defect{
		{name: "exit-code", trips: ids("exit.eof.at-start exit.eof.idle exit.eof.in-turn exit.eof.in-permission exit.eof.in-command exit.eof.in-terminal exit.eof.half-a-line"), eof: func(f *fake) int {
			f.stop()
			return 1
		}},
		{name: "stays-in-turn", hangs: true, trips: ids("exit.eof.in-turn exit.eof.in-permission exit.eof.in-command exit.eof.in-terminal exit.orphans.in-command"), eof: func(f *fake) int {
			f.turns.Wait()
			return f.stop()
		}},
		{name: "stays", hangs: true, broad: true, trips: ids("exit.eof.at-start exit.eof.idle exit.eof.half-a-line exit.orphans.idle"), eof: func(f *fake) int {
			f.hang()
			return 0
		}},
		{name: "answers-too-late", trips: ids("exit.eof.answers-first"), broad: true, in: on("_conformance/ping", always, func(f *fake, m *message) bool {
			f.turns.Go(func() { f.hang() })
			return true
		})},
		{name: "ignores-signals", hangs: true, trips: ids("exit.signal.idle exit.signal.in-turn exit.signal.in-command exit.signal.code")},
		{name: "signal-code", trips: ids("exit.signal.code")},
		{name: "leaves-command", trips: ids("exit.orphans.in-command exit.orphans.cancel exit.signal.in-command")},
		{name: "leaves-helper", trips: ids("exit.orphans.idle"), in: on("session/new", always, func(*fake, *message) bool {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), sleeperVariable+"=1")
			_ = cmd.Start()
			return false
		})},
		{name: "half-a-line", trips: ids("exit.stdout.whole-lines"), eof: func(f *fake) int {
			_, _ = f.out.Write([]byte(`{"jsonrpc":"2.0","method":"ses`))
			return f.stop()
		}},
		{name: "must-have-said", hangs: true, trips: ids("exit.stdout.closed"), eof: func(f *fake) int {
			f.write(bytes.Repeat([]byte(" "), 4<<20))
			return f.stop()
		}},
	}
	for i := range all {
		all[i].process = true
	}
	return all
}
