package bmctest

// Effects that are found in the list of [Effects] alone.
var (
	BadJSON         = malformedJSON
	BareLocation    = bareLocation
	Drip            = drip
	Echo            = echo
	EndlessBody     = endlessBody
	EscapedLocation = escapedLocation
	Garbage         = garbage
	GzipBomb        = gzipBomb
	HTMLPage        = htmlPage
	Locked          = lockedAccount
	LongBody        = longBody
	LongError       = longError
	Members         = manyMembers
	NamelessSession = namelessSession
	RedirectLoop    = redirectLoop
	TruncatedJSON   = truncatedJSON
	WithoutBody     = withoutBody
)
