package config

// SetMachine makes the catalog use another root for well-known places of programs, and other programs of processes.
func (c *Catalog) SetMachine(top string, executable func(pid int) (string, error)) {
	c.top, c.executable = top, executable
}
