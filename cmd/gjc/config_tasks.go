package main

// taskSettings is the section task.
func (c *config) taskSettings() map[string]setting {
	tasks := &c.context.Tasks
	return map[string]setting{
		"enableLsp":         boolean(&c.lsp.subagents),               // give helper agents language servers, too
		"maxConcurrency":    number(&tasks.MaxConcurrency, 1, 32),    // helpers of a session that work at the same time
		"maxRecursionDepth": number(&tasks.MaxDepth, 1, 5),           // 1: helpers start no helpers
		"maxTokens":         number(&tasks.MaxTokens, 0, mostTokens), // tokens that one helper may use, without cached ones; 0: any number
		"disabledAgents":    words(&tasks.Disabled),                  // names of helpers that are not started
	}
}
