package boundary

import "strings"

// Introduction returns the notice that the first command in a workspace shows, which says where commands run. state identifies it.
func (b *Settings) Introduction() (state, title, detail string) {
	const reads = "mode auto asks for all commands but those known to only read."
	if b.Use != Auto && b.Use != Require {
		return string(Off), "Commands run without a sandbox here, because bash.sandbox is off: " + reads, ""
	}
	if err := b.Lacks(); err != nil {
		why := strings.ReplaceAll(err.Error(), "\n", "; ")
		if strings.Contains(why, "bubblewrap") {
			why += ". It would have one with bubblewrap; \"gjc doctor\" says whether that works."
		}
		if b.Use == Require {
			return string(b.Use), "This machine has no sandbox, and bash.sandbox requires one: every command is refused.", why
		}
		return string(b.Use), "This machine has no sandbox, so " + reads, why
	}
	kind, _ := b.Find() // it has been found
	title = "Commands that you have not seen run in a sandbox here ("
	if b.Use == Require {
		title = "All commands run in a sandbox here, as bash.sandbox requires ("
	}
	may := Holds(kind)
	if b.Network {
		may = "change only the workspace, see no secrets, and use the machine's network"
	}
	return string(b.Use) + " " + kind, title + kind + "): they " + may + ".", ""
}

// Holds says, after "commands", what a kind of boundary lets them do.
func Holds(kind string) string {
	if kind == "Landlock" {
		return "change only the workspace, see no secrets and have no network; install bubblewrap to allow hosts"
	}
	return "change only the workspace, see no secrets, and reach only hosts that you allow"
}
