package content

// ReasonMeta is the name in the _meta of an answer to a permission request for the reason of a rejection, a string, which the model
// receives.
const ReasonMeta = "gjc.reason"
