package config

// SetMachine replaces the catalog's root directory of well-known program directories and its lookup of a process's program.
func (c *Catalog) SetMachine(top string, executable func(pid int) (string, error)) {
	c.top, c.executable = top, executable
}
