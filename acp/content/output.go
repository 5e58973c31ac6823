package content

// OutputSchemaMeta is the name in the _meta of session/prompt for the JSON Schema of the answer, an object's. The turn then calls no tools.
const OutputSchemaMeta = "gjc.outputSchema"
