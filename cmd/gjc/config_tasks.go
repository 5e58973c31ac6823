package main

// taskSettings returns the section task.
func (c *config) taskSettings() map[string]setting {
	tasks := &c.context.Tasks
	return map[string]setting{
		"enableLsp":         boolean(&c.lsp.subagents),               // also give helper agents language servers
		"maxConcurrency":    number(&tasks.MaxConcurrency, 1, 32),    // number of helpers that work at the same time in a session
		"maxRecursionDepth": number(&tasks.MaxDepth, 1, 5),           // depth of helpers that start helpers; 1: helpers start none
		"maxTokens":         number(&tasks.MaxTokens, 0, mostTokens), // tokens that one helper may use, without cached ones; 0: unlimited
		"disabledAgents":    words(&tasks.Disabled),                  // names of helpers that must not be started
	}
}
