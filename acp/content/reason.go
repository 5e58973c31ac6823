package content

// ReasonMeta is the name in the _meta of an answer to a permission request for the reason of a rejection, a string, which the model
// receives.
const ReasonMeta = "gjc.reason"

// TrustMeta is the name in the _meta of a permission request for true, if the question is whether files of the workspace may be used. The
// agent goes on without them.
const TrustMeta = "gjc.trust"
